"""The English sentence and the translator: for every page about the translator."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import chain
from random import Random

import streamlit as st

from attnviz.app import markdown
from attnviz.app.lessons.choosing import examples, sentence, vocabulary
from attnviz.app.lessons.document import SHARED
from attnviz.app.state import memory
from attnviz.app.state.choices import ENGLISH, TRANSLATOR
from attnviz.models import catalogue
from attnviz.trained.translator import lexicon, menu
from attnviz.trained.translator.vocabulary import ENGLISH as VOCABULARY

OPENING = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."

EXAMPLES = {
    "dog … tired": OPENING,
    "dog … narrow": NARROW,
    "trophy … big": "The trophy did not fit in the suitcase as it was too big.",
    "trophy … small": "The trophy did not fit in the suitcase as it was too small.",
}

VARIANTS = tuple(name for name in catalogue.names() if name.startswith(catalogue.TRANSLATOR))

_READING = "menu_reading"
_NOUNS = {
    "animals": frozenset({"animal"}),
    "places": lexicon.PLACES | lexicon.BUILT,
    "vehicles": frozenset({"vehicle"}),
    "things": lexicon.OBJECTS,
    "people": lexicon.PEOPLE,
}


def english() -> str:
    """Draw the box for the English sentence with its examples; return a sentence of known words.

    An unknown word stops the page with an error and the vocabulary; the typed text is kept.
    """

    def build(pick: Callable[[str], None]) -> None:
        st.button(
            SHARED.label("build"),
            icon=":material/casino:",
            type="tertiary",
            on_click=lambda: pick(built(Random())),  # noqa: S311 - sentences are no secret
        )
        known_words()

    with examples(ENGLISH, EXAMPLES, OPENING, build):
        return sentence(SHARED.label("english"), ENGLISH, OPENING, catalogue.TRANSLATOR, known_words)


def built(dice: Random) -> str:
    """Return a random sentence, "The … did not … the … as it was too …"."""
    subject = dice.choice(menu.SUBJECTS)
    verb = dice.choice(menu.verbs(subject))
    object_ = dice.choice(menu.objects(subject, verb))
    return _text(subject, verb, object_, dice.choice([*chain(*menu.predicates(subject, verb, object_))]))


def _text(subject: str, verb: str, object_: str, adjective: str) -> str:
    return f"{' '.join(menu.canonical(subject, verb, object_, adjective).source).capitalize()}."


def choose_variant() -> str:
    """Draw the choice of a trained translator, with its description; return its catalogue name."""
    # By their titles, and not shown as such: a link holds what is shown, and must be what is chosen.
    entries = {catalogue.entry(name).title: catalogue.entry(name) for name in VARIANTS}
    described = "\n\n".join(
        f"**{markdown.plain(title)}.** {markdown.plain(entry.description)}"
        for title, entry in entries.items()
    )
    return entries[TRANSLATOR.select(SHARED.label("translator"), list(entries), help=described)].name


def outside_note(outside: bool) -> None:
    """Warn of a sentence that is unlike the training set."""
    if outside:
        st.warning(SHARED.render("outside"), icon=":material/explore_off:")


@cache
def readings(text: str) -> dict[str, str]:
    """Return two sentences by their adjectives, this one among them.

    In the first *it* refers to the subject, in the second to the object. Empty for another kind of sentence.
    """
    words = text.lower().rstrip(" .").split()
    if len(words) < 4 or words[1] not in menu.SUBJECTS:
        return {}
    subject, adjective = words[1], words[-1]
    for verb in menu.verbs(subject):
        for object_ in set(words[2:]).intersection(menu.objects(subject, verb)):
            of_subject, of_object = menu.predicates(subject, verb, object_)
            if adjective not in (*of_subject, *of_object):
                continue
            if _text(subject, verb, object_, adjective).lower() == f"{' '.join(words)}.":
                mine, others = (of_subject, of_object) if adjective in of_subject else (of_object, of_subject)
                other = others[mine.index(adjective) % len(others)]
                both = (adjective, other) if adjective in of_subject else (other, adjective)
                return {each: _text(subject, verb, object_, each) for each in both}
    return {}


def other_reading(text: str) -> None:
    """Draw the switch between the two readings of the sentence, if it has them."""
    offered = readings(text)
    if not offered:
        return
    memory.put(_READING, text.lower().rstrip(" .").split()[-1])
    st.segmented_control(
        SHARED.label("reading"),
        list(offered),
        key=_READING,
        on_change=lambda: ENGLISH.set(offered[memory.get(_READING)]),
        required=True,
        format_func=lambda adjective: SHARED.label("too", adjective=adjective),
        label_visibility="collapsed",
        width="content",
    )


def by_kind() -> dict[str, tuple[str, ...]]:
    """Return every English word of the vocabulary once, by the label of its kind."""
    found = {
        kind: tuple(noun.english for noun in lexicon.NOUNS if noun.kind in kinds)
        for kind, kinds in _NOUNS.items()
    }
    found["adjectives"] = tuple(adjective.english for adjective in lexicon.ADJECTIVES)
    found["intentions"] = tuple(wish.english for wish in lexicon.WISHES)
    found["verbs"] = tuple(form for verb in lexicon.VERBS for form in (verb.english, verb.past, verb.third))
    listed = {word for words in found.values() for word in words}
    found["rest"] = tuple(word for word in VOCABULARY.words if word[0] != "[" and word not in listed)
    return found


known_words = partial(vocabulary, by_kind)
"""Draw the list of all words, folded."""
