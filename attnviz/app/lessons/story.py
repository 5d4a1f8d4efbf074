"""Controls for the text and the size of the storyteller, shared by the lessons about it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from attnviz.app.controls import build_sentence
from attnviz.app.lessons import choosing
from attnviz.app.lessons.document import SHARED
from attnviz.app.state.choices import PROMPT, STORYTELLER_SIZE
from attnviz.models import catalogue
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.sizes import SIZES


def size() -> str:
    """Draw the control for the storyteller's size; return the model's name in the catalogue."""
    names = {SHARED.label("layers", layers=size.layers): name for name, size in SIZES.items()}
    return names[STORYTELLER_SIZE.segments(SHARED.label("size"), list(names))]


def prompt(label: str, examples: Mapping[str, str]) -> tuple[str, str]:
    """Draw a text box, a menu of examples and the control for the size; the first example is the default.

    An invalid text stops the page with an error, and with the vocabulary if a word is unknown. The menu has a
    button for a random text.

    Returns:
        The text, and the storyteller's name in the catalogue.
    """
    opening = next(iter(examples.values()))
    storyteller = catalogue.entry(catalogue.STORYTELLER)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container():
            place = choosing.examples(
                PROMPT, examples, opening, lambda pick: build_sentence(storyteller, pick)
            )
        model = size()
    with place:
        return choosing.sentence(label, PROMPT, opening, model, known_words), model


known_words = partial(choosing.vocabulary, VOCABULARY)
"""Draw the collapsed vocabulary."""
