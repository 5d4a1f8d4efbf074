"""The sentence, and a token or a head of it: the same choices on every Learn page."""

from __future__ import annotations

from collections.abc import Callable

from attnviz.analysis.shown import Group, Shown
from attnviz.app import controls
from attnviz.app.examples import OPENING
from attnviz.app.learn.computed import MODEL
from attnviz.app.page import stop
from attnviz.app.state.choice import Text, Token
from attnviz.app.state.choices import LAYER, QUERY, TEXT
from attnviz.capture import loading
from attnviz.errors import AttnvizError, UnknownWords
from attnviz.models import catalogue

_ENTRY = catalogue.entry(MODEL)
_OPENING = 4, 2  # the head that follows the pronoun


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
        loading.tokens(model, text)
    except AttnvizError as error:
        after = known_words if isinstance(error, UnknownWords) else None
        stop(error, then=after)
    return text


def token(text: str, label: str, choice: Token = QUERY, word: str = "it") -> int:
    """Draw the choice of one token, "11 it"; return its place, from 0.

    Args:
        text: the sentence, which the model can read.
        label: what the choice is called.
        choice: the choice; `QUERY` and `KEY` mean the same on Explore.
        word: what is chosen at first; where the text has no such token, its middle one is.
    """
    groups = tokens(text)
    return controls.token(groups, text, label, choice, controls.place_of(word, groups))


def tokens(text: str) -> tuple[Group, ...]:
    """The tokens of a sentence, with what they are called."""
    return tuple(Shown(loading.tokens(MODEL, text), text).groups)


def layer() -> int:
    """Draw the choice of a layer; return it, from 0."""
    return LAYER.draw("Layer", _ENTRY.layers, _OPENING[0]) - 1


def head() -> tuple[int, int]:
    """Draw the choice of a layer and a head; return both, from 0."""
    return controls.head(_ENTRY.layers, _ENTRY.heads, _OPENING)
