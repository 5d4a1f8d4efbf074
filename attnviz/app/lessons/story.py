"""The text and the size of the storyteller: for every page about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random

import streamlit as st

from attnviz.app.controls import build_sentence
from attnviz.app.lessons import choosing
from attnviz.app.lessons.document import SHARED
from attnviz.app.state import link
from attnviz.app.state.choice import Text
from attnviz.app.state.choices import STORYTELLER_SIZE
from attnviz.models import catalogue
from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.reading import beginning
from attnviz.trained.storyteller.sizes import SIZES

_KINDS = {
    "women": grammar.WOMEN,
    "men": grammar.MEN,
    "things": grammar.NOUNS,
    "containers": grammar.CONTAINERS,
    "places": grammar.PLACES,
    "qualities": grammar.QUALITIES,
    "moods": grammar.MOODS,
    "syllables": grammar.SYLLABLES,
}


def size() -> str:
    """Draw the choice of the storyteller's size; return its name in the catalogue."""
    names = {SHARED.label("layers", layers=size.layers): name for name, size in SIZES.items()}
    return names[STORYTELLER_SIZE.segments(SHARED.label("size"), list(names))]


def prompt(
    label: str, box: Text, examples: Mapping[str, str], build: Callable[[Random], str] = beginning
) -> tuple[str, str]:
    """Draw the box for a text, examples, of which the first is the default, and in a lesson the size.

    An empty, too long or unknown text stops the page with an error and the vocabulary; it is kept. A button
    builds another text.

    Returns:
        The text, and the name of the storyteller.
    """
    opening = next(iter(examples.values()))
    storyteller = catalogue.entry(catalogue.STORYTELLER)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container():
            place = choosing.examples(
                box, examples, opening, lambda pick: build_sentence(storyteller, pick, build)
            )
        model = size() if link.page() in STORYTELLER_SIZE.pages else catalogue.STORYTELLER
    with place:
        return choosing.sentence(label, box, opening, model, known_words), model


def by_kind() -> dict[str, tuple[str, ...]]:
    """Return every word of the vocabulary once, by the label of its kind."""
    listed = {word for words in _KINDS.values() for word in words}
    rest = tuple(word for word in grammar.VOCABULARY.words if word[0] != "[" and word not in listed)
    return {**{kind: tuple(words) for kind, words in _KINDS.items()}, "rest": rest}


known_words = partial(choosing.vocabulary, by_kind)
"""Draw the list of all words, folded."""
