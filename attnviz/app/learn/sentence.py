"""The sentence, and a word or a head of it: the same choices on every Learn page and on Explore."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from attnviz.analysis.shown import Shown
from attnviz.app import links, markdown
from attnviz.app.controls import choose_token
from attnviz.app.examples import OPENING
from attnviz.app.learn.computed import MODEL
from attnviz.capture import loading
from attnviz.errors import AttnvizError, UnknownWords
from attnviz.models import catalogue

_EMPTIED = "the visitor emptied the box"


def sentence(
    label: str = "Sentence",
    key: str = "text",
    opening: str = OPENING.text,
    model: str = MODEL,
    known_words: Callable[[], None] | None = None,
) -> str:
    """Draw the box for a sentence; return what stands in it, which the model can read.

    Stops the page with a kind word if there is nothing to read, or too much.

    Args:
        label: what the box is called.
        key: the parameter's name.
        opening: what stands in the box where neither the visitor nor a link said anything.
        model: who is to read it; a name in the catalogue.
        known_words: draws which words the model knows, below the kind word about unknown ones.
    """
    if _left_empty(key):
        # Not as the widget's default: a default is left out of the link, and a sentence never should be.
        st.session_state[key] = opening
    text = st.text_input(label, key=key, bind="query-params", on_change=_edited, args=(key,))
    if _left_empty(key):
        st.rerun()
    try:
        loading.tokens(model, text)
    except AttnvizError as error:
        links.forget()
        st.error(markdown.plain(str(error)), icon=":material/edit:")
        if known_words and isinstance(error, UnknownWords):
            known_words()
        st.stop()
    return text


def choose_word(key: str, label: str, text: str, default: str = "it") -> int:
    """Draw the choice of one token, "11 it"; return its place, from 0.

    Args:
        key: the parameter's name; "query" and "key" mean the same on Explore.
        label: what the choice is called.
        text: the sentence, which the model can read.
        default: the word that is chosen at first; where the text has none such, its middle token is.
    """
    groups = Shown(loading.tokens(MODEL, text), text).groups
    options = [f"{group.number} {group.label}" for group in groups]
    places = [place for place, group in enumerate(groups) if group.label == default]
    begin = places[0] if places else len(groups) // 2
    return options.index(choose_token(key, label, options, options[begin], text))


def word_option(text: str, place: int) -> str:
    """What `choose_word` calls the token at this place (from 0): what a picture writes into its key."""
    group = Shown(loading.tokens(MODEL, text), text).groups[place]
    return f"{group.number} {group.label}"


def choose_layer() -> int:
    """Draw the choice of a layer; return it, from 0."""
    return _number("Layer", "layer", catalogue.entry(MODEL).layers, 4) - 1


def choose_head() -> tuple[int, int]:
    """Draw the choice of a layer and a head; return both, from 0."""
    layer_column, head_column = st.columns(2)
    with layer_column:
        layer = choose_layer()
    with head_column:
        head = _number("Head", "head", catalogue.entry(MODEL).heads, 2) - 1
    return layer, head


def _number(label: str, key: str, most: int, default: int) -> int:
    if st.session_state.get(key, 1) > most:  # another model's, on Explore
        st.session_state[key] = most
    return int(st.number_input(label, 1, most, default, key=key, bind="query-params"))


def _left_empty(key: str) -> bool:
    """True where nobody said anything: not the visitor, by emptying the box, and not the link."""
    asked = key not in st.session_state and links.asked(key)
    emptied = st.session_state.get(_EMPTIED) == key
    return not st.session_state.get(key) and not asked and not emptied


def _edited(key: str) -> None:
    st.session_state[_EMPTIED] = None if st.session_state[key] else key
