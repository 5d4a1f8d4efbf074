"""The English sentence, who translates it and what words it knows: for every page about the translator."""

from __future__ import annotations

import streamlit as st

from attnviz.app import markdown
from attnviz.app.lessons.choosing import examples, sentence
from attnviz.app.lessons.menus import menus
from attnviz.app.state import link
from attnviz.app.state.choices import ENGLISH, TRANSLATOR
from attnviz.models import catalogue
from attnviz.trained.translator import lexicon
from attnviz.trained.translator.vocabulary import ENGLISH as VOCABULARY

OPENING = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."

EXAMPLES = {
    "dog … tired": OPENING,
    "dog … narrow": NARROW,
    "trophy … big": "The trophy did not fit in the suitcase as it was too big.",
    "trophy … small": "The trophy did not fit in the suitcase as it was too small.",
}

NOTHING = "nothing: the most probable first word is already [END], the sign for the end."
"""What is said of an empty translation."""

VARIANTS = tuple(name for name in catalogue.names() if name.startswith(catalogue.TRANSLATOR))


def english() -> str:
    """Draw the box for the English sentence, and what writes into it; return one whose words the model knows.

    Stops the page with a kind word and the words that it knows, and keeps what was typed, where a word is
    not in the vocabulary.
    """

    def build() -> None:
        menus(typed())
        known_words()

    with examples(ENGLISH, EXAMPLES, OPENING, build):
        return sentence("English", ENGLISH, OPENING, catalogue.TRANSLATOR, known_words)


def choose_variant() -> str:
    """Draw the choice of a trained translator, with its description; return its catalogue name."""
    # By their titles, and not shown as such: a link holds what is shown, and must be what is chosen.
    entries = {catalogue.entry(name).title: catalogue.entry(name) for name in VARIANTS}
    described = "\n\n".join(
        f"**{markdown.plain(title)}.** {markdown.plain(entry.description)}"
        for title, entry in entries.items()
    )
    return entries[TRANSLATOR.select("Translator", list(entries), help=described)].name


def outside_note(outside: str | None) -> None:
    """Say what is unlike all that the model learned from, where anything is."""
    if outside:
        st.warning(
            f"**Outside what this model learned.** {outside} Its French may be wrong here.",
            icon=":material/explore_off:",
        )


def typed() -> str:
    """Return the text of the box for the English sentence: of known words or not."""
    return link.current(ENGLISH) or OPENING


_NOUNS = {
    "Animals": frozenset({"animal"}),
    "Places": lexicon.PLACES | lexicon.BUILT,
    "Vehicles": frozenset({"vehicle"}),
    "Things": lexicon.OBJECTS,
    "People": lexicon.PEOPLE,
}


def known_words() -> None:
    """Draw the list of all the words, folded up."""
    with st.expander("All the words it knows", icon=":material/menu_book:"):
        lines = [f"**{sort}**: {markdown.plain(', '.join(listed))}" for sort, listed in by_sort().items()]
        st.markdown("\n\n".join(lines))


def by_sort() -> dict[str, tuple[str, ...]]:
    """Every English word of the vocabulary once, with words of its sort."""
    found = {
        sort: tuple(noun.english for noun in lexicon.NOUNS if noun.kind in kinds)
        for sort, kinds in _NOUNS.items()
    }
    found["What can be said of them"] = tuple(adjective.english for adjective in lexicon.ADJECTIVES)
    found["What they can want to do"] = tuple(wish.english for wish in lexicon.WISHES)
    found["What they do"] = tuple(
        form for verb in lexicon.VERBS for form in (verb.english, verb.past, verb.third)
    )
    listed = {word for words in found.values() for word in words}
    found["Small words"] = tuple(word for word in VOCABULARY.words if word[0] != "[" and word not in listed)
    return found
