"""Controls for a model, a sentence and a head, shared by the pages about heads."""

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
    """A selected head of a model: its kind of attention, and its layer and number, from 0."""

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
    """A head, an input of its model, and one query token of the input.

    Attributes:
        given: Input of the model.
        queries, keys: Shown query and key tokens of this kind of attention.
        query: Index of the selected query token in `queries`, from 0.
    """

    given: ModelInput
    queries: tuple[DisplayToken, ...]
    keys: tuple[DisplayToken, ...]
    query: int

    @property
    def token(self) -> str:
        """The selected query token, in Markdown."""
        return markdown.token(self.query, self.queries)

    @property
    def block(self) -> Block:
        """The attention block of the selected layer."""
        return traces.trace(self.entry, self.given).block(self.kind, self.layer)


def sentence_and_model(*widths: int) -> tuple[str, Entry, list[DeltaGenerator]]:
    """Draw the controls for a sentence and a model in one row.

    Args:
        widths: Widths of further columns; the sentence's column has width 6, the model's column 3.

    Returns:
        A sentence that the model can read, the model, and the further columns.

    Raises:
        AttnvizError: the model cannot read the sentence, or is no longer usable.
    """
    with bar():
        wide, narrow, *places = st.columns([6, 3, *widths])
    with narrow:
        entry = controls.reading_model(offer_own=False)
    with wide:
        return sentence(entry), entry, places


def sentence(entry: Entry, label: str = "Sentence", *, alone: bool = True) -> str:
    """Draw the text box for a sentence; return a text that the model can read.

    The default is the model's first example.

    Args:
        entry: The model.
        label: Label of the box.
        alone: True if the page has no second sentence. A changed sentence then clears the second sentence
            that other pages stored for the previous one.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the model cannot read the text.
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
    """Return the other sentence of the model's example that has this text; "" if there is none."""
    pairs = {each.text: each.other for each in examples_of(entry, together=False) if each.other}
    return ({second: first for first, second in pairs.items()} | pairs).get(text, "")


def head(entry: Entry, kind: Kind) -> tuple[int, int]:
    """Draw the controls for a layer and a head; return both, from 0."""
    layer, head = controls.head(entry.layers_of(kind), entry.heads, introduction(entry).head or (1, 1))
    return controls.layer_with_weights(entry, layer), head


def groups(
    entry: Entry, given: ModelInput, kind: Kind
) -> tuple[tuple[DisplayToken, ...], tuple[DisplayToken, ...]]:
    """Return all tokens of the input with their labels: queries and keys."""
    shown = traces.shown(entry, given, kind, False, False)
    return shown[0].groups, shown[-1].groups
