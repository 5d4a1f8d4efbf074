"""The model, the sentence, and a head of it: the same choices on every page about heads at work."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.app import controls, markdown, traces
from attnviz.app.examples import examples_of, introduction
from attnviz.app.page import bar
from attnviz.app.state.choices import OTHER, PATCHED_WITH, TEXT
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.text import head_name
from attnviz.trace import Block, Kind


@dataclass(frozen=True)
class HeadSelection:
    """The open head of a model: of which kind of attention, and its layer and number, from 0."""

    entry: Entry
    kind: Kind
    layer: int
    head: int

    @property
    def name(self) -> str:
        """The head's name as in Clark et al. 2019: "4-2"."""
        return head_name(self.layer, self.head)


@dataclass(frozen=True)
class QueryInHead(HeadSelection):
    """A head with what its model reads.

    Attributes:
        given: what the model reads.
        queries, keys: the shown query and key tokens of this kind of attention.
        query: the chosen one, among `queries`, from 0.
    """

    given: ModelInput
    queries: tuple[DisplayToken, ...]
    keys: tuple[DisplayToken, ...]
    query: int

    @property
    def token(self) -> str:
        """The chosen token, in Markdown."""
        return markdown.token(self.query, self.queries)

    @property
    def block(self) -> Block:
        """The layer's attention, as the model has it."""
        return traces.trace(self.entry, self.given).block(self.kind, self.layer)


def sentence_and_model(*beside: int) -> tuple[str, Entry, list[DeltaGenerator]]:
    """Draw both choices in one line.

    Args:
        beside: how wide further places in this line are; the sentence is 6, the model 3.

    Returns:
        The sentence, which the model can read, the model, and the places.

    Raises:
        AttnvizError: the model cannot read the sentence, or cannot be used any more.
    """
    with bar():
        wide, narrow, *places = st.columns([6, 3, *beside])
    with narrow:
        entry = controls.reading_model(offer_own=False)
    with wide:
        return sentence(entry), entry, places


def sentence(entry: Entry, label: str = "Sentence", *, alone: bool = True) -> str:
    """Draw the box for a sentence; return its text, which the model can read.

    By default it is the model's first example.

    Args:
        entry: the model.
        label: what the box is called.
        alone: whether the page has no box for a second sentence beside it. The second sentence is then
            forgotten when another first one is typed: it was no partner of that.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the model cannot read it.
    """
    opening = examples_of(entry, together=False)[0].text
    text = controls.sentence(label, opening, changed=_forget_partners if alone else None)

    def built(sentence: str) -> None:
        TEXT.set(sentence)
        _forget_partners()

    try:
        loading.tokens(entry.name, text)
    except AttnvizError:
        controls.build_sentence(entry, built)
        raise
    return text


def _forget_partners() -> None:
    OTHER.forget()
    PATCHED_WITH.forget()


def partner(entry: Entry, text: str) -> str:
    """The other sentence of the model's example with this one; "" if there is none."""
    pairs = {each.text: each.other for each in examples_of(entry, together=False) if each.other}
    return ({second: first for first, second in pairs.items()} | pairs).get(text, "")


def head(entry: Entry, of_kind: Kind) -> tuple[int, int]:
    """Draw the choice of a layer and a head; return both, from 0."""
    layer, head = controls.head(entry.layers_of(of_kind), entry.heads, introduction(entry).head or (1, 1))
    return controls.with_weights(entry, layer), head


def groups(
    entry: Entry, given: ModelInput, of_kind: Kind
) -> tuple[tuple[DisplayToken, ...], tuple[DisplayToken, ...]]:
    """The tokens of what the model reads, with what they are called: queries and keys."""
    shown = traces.shown(entry, given, of_kind, False, False)
    return shown[0].groups, shown[-1].groups
