"""Controls for the sentence, the token and the head, shared by the lessons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.display_tokens import DisplayToken, DisplayTokens
from attnviz.app import controls, markdown
from attnviz.app.examples import OPENING
from attnviz.app.lessons.computed import MODEL
from attnviz.app.lessons.document import SHARED
from attnviz.app.page import stop
from attnviz.app.state import link, memory
from attnviz.app.state.choice import Several, Text, Token
from attnviz.app.state.choices import LAYER, QUERY, TEXT
from attnviz.app.unfamiliar import unfamiliar
from attnviz.capture import loading
from attnviz.errors import AttnvizError, UnknownWords
from attnviz.models import catalogue
from attnviz.text import head_name
from attnviz.trained.vocabulary import Vocabulary

_ENTRY = catalogue.entry(MODEL)
DEFAULT_HEAD = 4, 2
"""The head that attends from a pronoun to its noun; layer and head from 1."""


@dataclass(frozen=True)
class TokenSelection:
    """A sentence and the index of one of its tokens, from 0."""

    text: str
    query: int

    @cached_property
    def groups(self) -> tuple[DisplayToken, ...]:
        """The tokens with their labels."""
        return tokens(self.text)

    @property
    def name(self) -> str:
        """The label of the token, in Markdown."""
        return markdown.token(self.query, self.groups)


@dataclass(frozen=True)
class HeadSelection(TokenSelection):
    """A sentence, a query token, and a head of the model; layer and head count from 0."""

    layer: int
    head: int

    @property
    def head_name(self) -> str:
        """The head's name as in Clark et al. 2019: "4-2"."""
        return head_name(self.layer, self.head)


def head_selection() -> HeadSelection:
    """Draw the controls for a sentence, a head and a query token, side by side."""
    sentence_column, head_column, word_column = st.columns([5, 4, 3])
    with sentence_column:
        text = sentence()
    with head_column:
        chosen = head()
    with word_column:
        return HeadSelection(text, token(text, SHARED.label("query")), *chosen)


def sentence(
    label: str = SHARED.label("sentence"),
    box: Text = TEXT,
    opening: str = OPENING.text,
    model: str = MODEL,
    known_words: Callable[[], None] | None = None,
) -> str:
    """Draw the text box for a sentence; return the sentence if it is valid for the model.

    An empty or invalid text stops the page with an error.

    Args:
        label: Label of the box.
        box: The choice that stores the sentence.
        opening: Default text.
        model: Name of the model in the catalogue.
        known_words: Function that draws the vocabulary, below an error about unknown words.
    """
    text = controls.sentence(label, opening, box)
    try:
        read = loading.tokens(model, text)
    except AttnvizError as error:
        after = known_words if isinstance(error, UnknownWords) else None
        stop(error, then=after)
    if model == MODEL and (note := unfamiliar(DisplayTokens(read, text).groups)):
        st.warning(note, icon=":material/explore_off:")
    return text


def examples(
    box: Text,
    offered: Mapping[str, str],
    opening: str,
    more: Callable[[Callable[[str], None]], None] | None = None,
) -> DeltaGenerator:
    """Draw a menu of examples next to a text box; return the container for the box.

    Args:
        box: The choice that stores the text.
        offered: Texts of the examples, by label.
        opening: Default text.
        more: Function that draws further controls; its argument is a function that sets the text.
    """
    typed = link.current(box) or opening
    pressed = next((name for name, text in offered.items() if text == typed), None)
    picked = f"{box.name} was picked"

    def pick(text: str) -> None:
        box.set(text)
        memory.put(picked, text)

    def on_close() -> None:
        # If the menu closes before the server has responded, the browser sends the box's old text.
        if text := memory.get(picked):
            box.set(text)
        memory.forget(picked)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        place = st.container()
        # Drawn only while open: the browser keeps sending the values of a closed menu's widgets.
        menu = st.popover(
            SHARED.label("examples"), icon=":material/list:", key=f"{box.name}_examples", on_change=on_close
        )
        if menu.open:
            with menu:
                key = f"{box.name}_example"
                controls.buttons(
                    SHARED.label("examples"), offered, key, pick, pressed, label_visibility="collapsed"
                )
                if more:
                    more(pick)
    return place


def changes(box: Several, text: str, label: str, **look: Any) -> list[str]:
    """Draw the box for edits in text form; a new sentence clears the box.

    `look` is passed to `st.multiselect`.
    """
    key = f"the sentence of {box.name}"
    if memory.get(key, text) != text:
        box.set([])
    memory.put(key, text)
    typed: list[str] = box.draw(label, [], accept_new_options=True, **look)
    return [each.strip() for each in typed]


def token(text: str, label: str, choice: Token = QUERY, begin: int | None = None) -> int:
    """Draw a select of tokens, such as "11 it"; return the position of the selected token, from 0.

    The default is `begin` or, if that is None, a pronoun or else the middle word.
    """
    return controls.token(tokens(text), text, label, choice, begin)


def tokens(text: str) -> tuple[DisplayToken, ...]:
    """Return the tokens of a sentence with their labels."""
    return tuple(DisplayTokens(loading.tokens(MODEL, text), text).groups)


def layer() -> int:
    """Draw the control for a layer; return its index, from 0."""
    return LAYER.draw(SHARED.label("layer"), _ENTRY.layers, DEFAULT_HEAD[0]) - 1


def head() -> tuple[int, int]:
    """Draw the controls for a layer and a head; return their indices, from 0."""
    return controls.head(_ENTRY.layers, _ENTRY.heads, DEFAULT_HEAD)


def vocabulary(words: Vocabulary) -> None:
    """Draw a collapsed list of a model's vocabulary."""
    with st.expander(SHARED.label("vocabulary"), icon=":material/menu_book:"):
        st.markdown(markdown.plain(", ".join(sorted(word for word in words.words if word[0] != "["))))
