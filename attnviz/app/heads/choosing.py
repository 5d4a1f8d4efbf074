"""The model, the sentence, and a head or a word of it: the same choices on every page about heads at work."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from attnviz.analysis.shown import Group
from attnviz.app import caches, links
from attnviz.app.controls import choose_token
from attnviz.app.examples import examples_of, introduction
from attnviz.app.explore.model_choice import choose_model
from attnviz.capture import loading
from attnviz.capture.given import Given
from attnviz.models.catalogue import Entry
from attnviz.trace import Kind

HERE = ("model", "kind", "text", "layer", "head", "query")
"""The keys of the choices in this file."""

PRONOUNS = ("it", "he", "she", "they", "him", "her", "them", "its", "his", "their")
"""A token of which one might ask, the first of these first."""

STALE_SECONDS = 2.0
"""For how long after a pick the boxes may still say what they said before it."""

_PICKED = "the head that was picked"
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


def sentence(entry: Entry, label: str = "Sentence", *, alone: bool = True) -> str:
    """Draw the box for a sentence; return what stands in it, which the model can read.

    Where neither the visitor nor a link said anything, it is the model's first example.

    Args:
        entry: the model.
        label: what the box is called.
        alone: whether the page has no box for a second sentence. What stands in that box elsewhere then goes
            when another first one is typed: it was no partner of that.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the model cannot read it.
    """
    if left_empty():
        # Not as the widget's default: a default is left out of the link, and a sentence never should be.
        st.session_state["text"] = examples_of(entry.name, together=False)[0].text
    changed = _typed_alone if alone else edited
    text = st.text_input(label, key="text", bind="query-params", on_change=changed)
    if left_empty():
        st.rerun()
    loading.tokens(entry.name, text)
    return text


def head(entry: Entry, of_kind: Kind) -> tuple[int, int]:
    """Draw the choice of a layer and a head; return both, from 0."""
    opening = introduction(entry.name).head or (1, 1)
    layers = entry.layers_of(of_kind)
    _keep_picked()
    layer_column, head_column = st.columns(2, wrap=False)
    with layer_column:
        layer = _number("Layer", "layer", layers, opening[0])
    with head_column:
        chosen = _number("Head", "head", entry.heads, opening[1])
    return layer - 1, chosen - 1


def open_head(layer: int, head: int) -> None:
    """Choose a head (from 0), from a picture or a button."""
    before = _open()
    st.session_state["layer"], st.session_state["head"] = layer + 1, head + 1
    st.session_state[_PICKED] = _Picked(before, _open(), time.monotonic())


class _Picked(NamedTuple):
    """A head that was picked, and the one that was open before it; both as layer and head, from 1."""

    before: tuple[int | None, int | None]
    now: tuple[int | None, int | None]
    at: float


def _open() -> tuple[int | None, int | None]:
    return st.session_state.get("layer"), st.session_state.get("head")


def _keep_picked() -> None:
    """Pass over the values of a message that was on its way when a head was picked.

    Where something is computed, the page asks for it every second, and sends with that all that its boxes
    held: the head before, if it does not know of the pick yet.
    """
    picked: _Picked | None = st.session_state.get(_PICKED)
    if picked and picked.before == _open() and time.monotonic() - picked.at < STALE_SECONDS:
        st.session_state["layer"], st.session_state["head"] = picked.now


def groups(entry: Entry, given: Given, of_kind: Kind) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """The tokens of what the model reads, with what they are called: queries and keys."""
    shown = caches.shown(entry.name, given, of_kind, False, False)
    return shown[0].groups, shown[-1].groups


def word(
    groups: Sequence[Group], given: object, label: str = "Token", key: str = "query", begin: int | None = None
) -> int:
    """Draw the choice of one token, "10 it"; return its place among the groups, from 0.

    A word that occurs twice has two entries, told apart by their numbers. While the text stays the same, the
    choice follows the word: to another model's tokenizer, the word may have another number.

    Args:
        groups: the tokens, as `groups` returns them.
        given: what they are tokens of.
        label: what the choice is called.
        key: the parameter's name; "query" means the same on Explore.
        begin: the place that is chosen first; None: that of a pronoun, or else the middle.
    """
    options = [word_option(group) for group in groups]
    _follow(groups, options, given, key)
    first = _opening(groups) if begin is None else begin
    place = options.index(choose_token(key, label, options, options[first], given))
    st.session_state[_chosen_in(key)] = given, groups[place]
    return place


def word_option(group: Group) -> str:
    """What `word` calls a token: what a picture writes into its key."""
    return f"{group.number} {group.label}"


def _follow(groups: Sequence[Group], options: Sequence[str], given: object, key: str) -> None:
    """Where the choice was made among other tokens of the same text, choose the same word among these."""
    text, chosen = st.session_state.get(_chosen_in(key), (None, None))
    asked = chosen is not None and st.session_state.get(key) == word_option(chosen)
    if asked and text == given and chosen not in groups:
        place = same_word(groups, chosen)
        if place is not None:
            st.session_state[key] = options[place]


def same_word(groups: Sequence[Group], wanted: Group) -> int | None:
    """The place of the word that was another tokenizer's; None where it is not.

    It is the token of the same characters, whole or in part, that is spelled the same, whole or in part:
    "barked" where there was "##ed". Else, of all that are called the same, that with the nearest number.
    """
    word, (start, end) = _spelled(wanted), wanted.characters
    for place, group in enumerate(groups):
        begins, ends = group.characters
        here = max(begins, start) < min(ends, end)
        if here and (_spelled(group) in word or word in _spelled(group)):
            return place
    same = [place for place, group in enumerate(groups) if _spelled(group) == word]
    return min(same, key=lambda place: abs(groups[place].number - wanted.number), default=None)


def _opening(groups: Sequence[Group]) -> int:
    words = [_spelled(group) for group in groups]
    return next((words.index(pronoun) for pronoun in PRONOUNS if pronoun in words), len(groups) // 2)


def _spelled(group: Group) -> str:
    """The token's word without the signs and the capitals in which tokenizers differ."""
    return group.label.strip(_WORD_MARKS).removeprefix("##").casefold()


def _chosen_in(key: str) -> str:
    return f"{key}: the text and the token"


def _number(label: str, key: str, most: int, default: int) -> int:
    default = min(default, most)
    chosen = st.session_state.get(key, default)
    if chosen is None or chosen > most:  # left empty, or another model's
        st.session_state[key] = default
    return int(st.number_input(label, 1, most, default, key=key, bind="query-params"))


def left_empty() -> bool:
    """True where nobody said which sentence: not the visitor, by emptying the box, and not the link."""
    named = "text" not in st.session_state and links.named("text")
    return not st.session_state.get("text") and not named and not st.session_state.get(_EMPTIED)


def edited() -> None:
    """Remember whether the visitor emptied the sentence's box: to be called when it was changed."""
    st.session_state[_EMPTIED] = not st.session_state["text"]


def _typed_alone() -> None:
    edited()
    st.session_state.pop("other", None)
