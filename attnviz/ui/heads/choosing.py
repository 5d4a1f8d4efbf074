"""The model, the sentence, and a head or a word of it: the same choices on every page about heads at work."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.analysis.shown import Group
from attnviz.capture import loading
from attnviz.capture.catalogue import Entry
from attnviz.capture.given import Given
from attnviz.trace import Kind
from attnviz.ui import caches, links
from attnviz.ui.controls import choose_token, one_of
from attnviz.ui.examples import examples_of, introduction
from attnviz.ui.explore.model_choice import choose_model

KINDS: dict[Kind, str] = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}
"""What a visitor calls each kind of attention."""

HERE = ("model", "kind", "text", "layer", "head", "query")
"""The keys of the choices in this file."""

_EMPTIED = "the visitor emptied the sentence"
_WORD_MARKS = " Ġ▁"  # what tokenizers write for the space before a word


def sentence_and_model() -> tuple[str, Entry]:
    """Draw both choices in one row; return the sentence, which the model can read, and the model.

    Raises:
        AttnvizError: the model cannot read what stands in the box, or cannot be used any more.
    """
    beside, narrow = st.columns([5, 2])
    with narrow:
        entry = model()
    with beside:
        return sentence(entry), entry


def model() -> Entry:
    """Draw the choice of a model that reads texts; return what is known of it.

    Raises:
        AttnvizError: its files have gone, say.
    """
    return caches.entry(choose_model())


def sentence(entry: Entry, label: str = "Sentence") -> str:
    """Draw the box for a sentence; return what stands in it, which the model can read.

    Where neither the visitor nor a link said anything, it is the model's first example.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the model cannot read it.
    """
    if _left_empty():
        # Not as the widget's default: a default is left out of the link, and a sentence never should be.
        st.session_state["text"] = examples_of(entry.name, together=False)[0].text
    text = st.text_input(label, key="text", bind="query-params", on_change=_edited)
    if _left_empty():
        st.rerun()
    loading.tokens(entry.name, text)
    return text


def kind(entry: Entry) -> Kind:
    """Draw the choice among the model's kinds of attention, where there are several."""
    if len(entry.kinds) == 1:
        return entry.kinds[0]
    return one_of("Attention", entry.kinds, entry.kinds[0], "kind")  # type: ignore[return-value]  # one of its options


def head(entry: Entry, of_kind: Kind) -> tuple[int, int]:
    """Draw the choice of a layer and a head; return both, from 0."""
    opening = introduction(entry.name).head or (1, 1)
    layers = entry.layers_of(of_kind)
    layer_column, head_column = st.columns(2)
    with layer_column:
        layer = _number("Layer", "layer", layers, opening[0])
    with head_column:
        chosen = _number("Head", "head", entry.heads, opening[1])
    return layer - 1, chosen - 1


def open_head(layer: int, head: int) -> None:
    """Choose a head (from 0), from a picture or a button."""
    st.session_state["layer"], st.session_state["head"] = layer + 1, head + 1


def groups(entry: Entry, given: Given, of_kind: Kind) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """The tokens of what the model reads, with what they are called: queries and keys."""
    shown = caches.shown(entry.name, given, of_kind, False, False)
    return shown[0].groups, shown[-1].groups


def word(groups: Sequence[Group], given: Given, label: str = "Token", key: str = "query") -> int:
    """Draw the choice of one token, "10 it"; return its place among the groups, from 0.

    A word that occurs twice has two entries, told apart by their numbers.

    Args:
        groups: the tokens, as `groups` returns them.
        given: what they are tokens of.
        label: what the choice is called.
        key: the parameter's name; "query" means the same on Explore.
    """
    options = [word_option(group) for group in groups]
    named = [place for place, group in enumerate(groups) if group.label.strip(_WORD_MARKS) == "it"]
    begin = named[0] if named else len(groups) // 2
    return options.index(choose_token(key, label, options, options[begin], given))


def word_option(group: Group) -> str:
    """What `word` calls a token: what a picture writes into its key."""
    return f"{group.number} {group.label}"


def _number(label: str, key: str, most: int, default: int) -> int:
    default = min(default, most)
    chosen = st.session_state.get(key, default)
    if chosen is None or chosen > most:  # left empty, or another model's
        st.session_state[key] = default
    return int(st.number_input(label, 1, most, default, key=key, bind="query-params"))


def _left_empty() -> bool:
    """True where nobody said anything: not the visitor, by emptying the box, and not the link."""
    asked = "text" not in st.session_state and links.asked("text")
    return not st.session_state.get("text") and not asked and not st.session_state.get(_EMPTIED)


def _edited() -> None:
    st.session_state[_EMPTIED] = not st.session_state["text"]
