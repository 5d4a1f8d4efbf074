"""What the storyteller reads, and what words it knows: for every page about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

import streamlit as st

from attnviz.app.controls import build_sentence
from attnviz.app.lessons import choosing
from attnviz.app.state import link
from attnviz.app.state.choice import Text
from attnviz.app.state.choices import STORYTELLER_SIZE
from attnviz.models import catalogue
from attnviz.text import joined
from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.reading import beginning
from attnviz.trained.storyteller.sizes import SIZES

_KINDS = {
    "Women": grammar.WOMEN,
    "Men": grammar.MEN,
    "Things": grammar.NOUNS,
    "What holds them": grammar.CONTAINERS,
    "Places": grammar.PLACES,
    "Qualities": grammar.QUALITIES,
    "Moods": grammar.MOODS,
    "Syllables, of which creatures are named": grammar.SYLLABLES,
}


def size() -> str:
    """Draw the choice of how large a storyteller the page is about; return its name in the catalogue."""
    names = {f"{size.layers} layers": name for name, size in SIZES.items()}
    return names[STORYTELLER_SIZE.segments("Size of the storyteller", list(names))]


def prompt(
    label: str, box: Text, examples: Mapping[str, str], build: Callable[[Random], str] = beginning
) -> tuple[str, str]:
    """Draw the box for a text, examples, of which the first is open at first, and in a lesson the size.

    Stops the page with a kind word and the words that the model knows, and keeps what was typed, where the
    text is empty, too long, or has a word that is not in the vocabulary. A button builds another text.

    Returns:
        What stands in the box, and which storyteller is to read it.
    """
    opening = next(iter(examples.values()))
    storyteller = catalogue.entry(catalogue.STORYTELLER)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container():
            place = choosing.examples(
                box, examples, opening, lambda: build_sentence(storyteller, box.set, build)
            )
        model = size() if link.page() in STORYTELLER_SIZE.pages else catalogue.STORYTELLER
    with place:
        return choosing.sentence(label, box, opening, model, known_words), model


def known_words() -> None:
    """Draw the list of all the words, folded up."""
    listed = {word for words in _KINDS.values() for word in words}
    rest = [word for word in grammar.VOCABULARY.words if word[0] != "[" and word not in listed]
    with st.expander("All the words it knows", icon=":material/menu_book:"):
        lines = [f"**{kind}**: {', '.join(words)}" for kind, words in _KINDS.items()]
        st.markdown("\n\n".join([*lines, f"**All others**: {joined([f'`{word}`' for word in rest])}"]))
