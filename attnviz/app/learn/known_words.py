"""All the English words that the translator knows, sort by sort."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from attnviz.app import markdown
from attnviz.trained.translator import lexicon
from attnviz.trained.translator.vocabulary import ENGLISH

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
    found = {sort: tuple(_nouns(kinds)) for sort, kinds in _NOUNS.items()}
    found["What can be said of them"] = tuple(adjective.english for adjective in lexicon.ADJECTIVES)
    found["What they can want to do"] = tuple(wish.english for wish in lexicon.WISHES)
    found["What they do"] = tuple(
        form for verb in lexicon.VERBS for form in (verb.english, verb.past, verb.third)
    )
    listed = {word for words in found.values() for word in words}
    found["Small words"] = tuple(word for word in ENGLISH.words if word[0] != "[" and word not in listed)
    return found


def _nouns(kinds: frozenset[str]) -> Iterator[str]:
    return (noun.english for noun in lexicon.NOUNS if noun.kind in kinds)
