"""Controls for the English sentence and the translator, shared by the pages about the translator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from random import Random

import streamlit as st

from attnviz.app import controls, markdown
from attnviz.app.lessons.choosing import examples, sentence, vocabulary
from attnviz.app.lessons.document import SHARED
from attnviz.app.state.choices import ENGLISH, TRANSLATOR
from attnviz.models import catalogue
from attnviz.trained.translator import menu
from attnviz.trained.translator.vocabulary import ENGLISH as VOCABULARY

OPENING = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."
_BIG = "The trophy did not fit in the suitcase as it was too big."
_SMALL = "The trophy did not fit in the suitcase as it was too small."

EXAMPLES = {
    "dog … tired": OPENING,
    "dog … narrow": NARROW,
    "trophy … big": _BIG,
    "trophy … small": _SMALL,
}
_READINGS = {"too tired": OPENING, "too narrow": NARROW}, {"too big": _BIG, "too small": _SMALL}

VARIANTS = tuple(name for name in catalogue.names() if name.startswith(catalogue.TRANSLATOR))


def english() -> str:
    """Draw the text box for the English sentence and its examples; return the sentence.

    For an unknown word, draw an error and the vocabulary, and stop the page; the box keeps its text.
    """

    def build(pick: Callable[[str], None]) -> None:
        st.button(
            SHARED.label("build"),
            icon=":material/casino:",
            type="tertiary",
            on_click=lambda: pick(random_sentence(Random())),  # noqa: S311 - sentences are not secret
        )
        known_words()

    with examples(ENGLISH, EXAMPLES, OPENING, build):
        return sentence(SHARED.label("english"), ENGLISH, OPENING, catalogue.TRANSLATOR, known_words)


def random_sentence(rng: Random) -> str:
    """Return a random sentence, "The … did not … the … as it was too …"."""
    subject = rng.choice(menu.SUBJECTS)
    verb = rng.choice(menu.verbs(subject))
    object_ = rng.choice(menu.objects(subject, verb))
    adjective = rng.choice([*chain(*menu.predicates(subject, verb, object_))])
    return f"{' '.join(menu.canonical(subject, verb, object_, adjective).source).capitalize()}."


def choose_variant() -> str:
    """Draw a select of trained translators; return the catalogue name of the selected translator."""
    # The options are titles, without a format function, because the link contains the displayed option.
    entries = {catalogue.entry(name).title: catalogue.entry(name) for name in VARIANTS}
    descriptions = "\n\n".join(
        f"**{markdown.plain(title)}.** {markdown.plain(entry.description)}"
        for title, entry in entries.items()
    )
    return entries[TRANSLATOR.select(SHARED.label("translator"), list(entries), help=descriptions)].name


def outside_note(outside: bool) -> None:
    """If `outside`, warn that the sentence is unlike the training set."""
    if outside:
        st.warning(SHARED.render("outside"), icon=":material/explore_off:")


def reading_switch(text: str) -> None:
    """If the text is an example, draw the switch to the version in which "it" refers to the other noun."""
    for offered in _READINGS:
        if text in offered.values():
            shown = next(label for label, reading in offered.items() if reading == text)
            controls.buttons(
                SHARED.label("reading"),
                offered,
                "menu_reading",
                ENGLISH.set,
                shown,
                label_visibility="collapsed",
            )


known_words = partial(vocabulary, VOCABULARY)
"""Draw the collapsed vocabulary."""
