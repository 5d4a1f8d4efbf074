"""The sentence, and a token or a head of it: the same choices on every Learn page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.display_tokens import DisplayToken, DisplayTokens
from attnviz.app import controls, markdown
from attnviz.app.examples import OPENING
from attnviz.app.lessons.computed import MODEL
from attnviz.app.page import stop
from attnviz.app.state import link, memory
from attnviz.app.state.choice import Text, Token
from attnviz.app.state.choices import LAYER, QUERY, TEXT
from attnviz.app.unfamiliar import unfamiliar
from attnviz.capture import loading
from attnviz.errors import AttnvizError, UnknownWords
from attnviz.models import catalogue
from attnviz.text import head_name

_ENTRY = catalogue.entry(MODEL)
HEAD_AT_FIRST = 4, 2
"""The head that follows the pronoun; layer and head from 1."""


@dataclass(frozen=True)
class TokenSelection:
    """What a page is about: a sentence, `text`, and the place of one of its tokens, `query`, from 0."""

    text: str
    query: int

    @cached_property
    def groups(self) -> tuple[DisplayToken, ...]:
        """The tokens, with what they are called."""
        return tokens(self.text)

    @property
    def name(self) -> str:
        """What the token is called, in Markdown."""
        return markdown.token(self.query, self.groups)


@dataclass(frozen=True)
class HeadSelection(TokenSelection):
    """The same, and a head of the model in which that token looks; layer and head from 0."""

    layer: int
    head: int

    @property
    def head_name(self) -> str:
        """The head's name as in Clark et al. 2019: "4-2"."""
        return head_name(self.layer, self.head)


def head_selection() -> HeadSelection:
    """Draw the choices of a sentence, a head and a token that looks, side by side."""
    sentence_column, head_column, word_column = st.columns([5, 4, 3])
    with sentence_column:
        text = sentence()
    with head_column:
        chosen = head()
    with word_column:
        return HeadSelection(text, token(text, "From (query)"), *chosen)


def sentence(
    label: str = "Sentence",
    box: Text = TEXT,
    opening: str = OPENING.text,
    model: str = MODEL,
    known_words: Callable[[], None] | None = None,
) -> str:
    """Draw the box for a sentence; return what stands in it, which the model can read.

    Stops the page with a kind word if there is nothing to read, or too much.

    Args:
        label: what the box is called.
        box: the choice.
        opening: what stands in the box where neither the visitor nor a link said anything.
        model: who is to read it; a name in the catalogue.
        known_words: draws which words the model knows, below the kind word about unknown ones.
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
    box: Text, offered: Mapping[str, str], opening: str, more: Callable[[], None] | None = None
) -> DeltaGenerator:
    """Draw a menu of examples for a box; return the place for the box, in front of it.

    Args:
        box: the choice.
        offered: what each example writes into the box.
        opening: what stands in the box at first.
        more: draws what else writes into it.
    """
    typed = link.current(box) or opening
    pressed = next((name for name, text in offered.items() if text == typed), None)
    picked = f"{box.name} was picked"

    def pick(text: str) -> None:
        box.set(text)
        memory.put(picked, text)

    def closed() -> None:
        # Where the menu closes before the server has answered the pick, the browser sends the box's old text.
        if text := memory.get(picked):
            box.set(text)
        memory.forget(picked)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        place = st.container()
        # Drawn only while it is open: the browser goes on sending what the widgets of a closed menu showed.
        menu = st.popover("Examples", icon=":material/list:", key=f"{box.name}_examples", on_change=closed)
        if menu.open:
            with menu:
                key = f"{box.name}_example"
                controls.buttons("Examples", offered, key, pick, pressed, label_visibility="collapsed")
                if more:
                    more()
    return place


def token(text: str, label: str, choice: Token = QUERY, begin: int | None = None) -> int:
    """Draw the choice of one token, "11 it"; return its place, from 0.

    The place `begin` is chosen at first; None: that of a pronoun, or else the middle word's. `QUERY` and
    `KEY` mean the same on Explore.
    """
    return controls.token(tokens(text), text, label, choice, begin)


def tokens(text: str) -> tuple[DisplayToken, ...]:
    """The tokens of a sentence, with what they are called."""
    return tuple(DisplayTokens(loading.tokens(MODEL, text), text).groups)


def layer() -> int:
    """Draw the choice of a layer; return it, from 0."""
    return LAYER.draw("Layer", _ENTRY.layers, HEAD_AT_FIRST[0]) - 1


def head() -> tuple[int, int]:
    """Draw the choice of a layer and a head; return both, from 0."""
    return controls.head(_ENTRY.layers, _ENTRY.heads, HEAD_AT_FIRST)
