"""The translator's English and French words from `lexicon.toml`, and the rules for combining them.

In its context, each English word has one French translation, so a sentence has only one correct translation.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Gender = Literal["m", "f"]
Tense = Literal["past", "present"]


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun.

    Attributes:
        kind: Semantic kind, which determines the noun's predicates and verbs.
    """

    english: str
    french: str
    gender: Gender
    kind: str

    @property
    def pronoun(self) -> str:
        """English pronoun: "it", or "he" or "she" for people."""
        return "it" if self.kind not in PEOPLE else {"m": "he", "f": "she"}[self.gender]


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective, with its masculine and feminine forms.

    Attributes:
        kinds: Kinds of nouns that it describes.
        hinders: True if it prevents an action ("tired", "narrow"), False if it enables one
            ("hungry", "safe"), None if it does neither.
        before: True if it precedes its noun in French.
        before_vowel: Masculine form before a vowel ("vieil"), if different.
        absolute: True if it cannot follow "too" or "very" ("open").
        colour: True for a colour. Colours are only used before a noun ("the white dog").
    """

    english: str
    masculine: str
    feminine: str
    kinds: frozenset[str]
    hinders: bool | None = None
    before: bool = False
    before_vowel: str | None = None
    absolute: bool = False
    colour: bool = False

    def french(self, gender: Gender) -> str:
        """Return the form that agrees with a noun of this gender."""
        return self.masculine if gender == "m" else self.feminine


@dataclass(frozen=True, eq=False)
class Wish:
    """A wish, used like an adjective: "it wanted to sleep"."""

    english: str
    french: str
    kinds: frozenset[str]
    hinders: bool


Predicate = Adjective | Wish


@dataclass(frozen=True, eq=False)
class Reasons:
    """Predicates of the subject and of the object that can be the reason for an action."""

    of_subject: tuple[str, ...]
    of_object: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb that takes an object.

    Attributes:
        english, past, third: "enter", "entered", "enters".
        present: French present, third person: "entre".
        participle: French participle: "entré"; None for a stative verb.
        imperfect: French past of a stative verb: "craignait".
        auxiliary: "a" or "est"; after "est", the participle agrees with the subject.
        english_preposition, french_preposition: Preposition before the object, if any.
        kinds: Kinds of objects.
        toward: False for reactions to something bad ("avoid", "fear").
        because, because_not: Specific reasons for the action and against it; None for all predicates that
            enable or prevent an action.
    """

    english: str
    past: str
    third: str
    present: str
    kinds: frozenset[str]
    participle: str | None = None
    imperfect: str = ""
    auxiliary: str = "a"
    english_preposition: str = ""
    french_preposition: str = ""
    toward: bool = True
    because: Reasons | None = None
    because_not: Reasons | None = None

    def conjugate(self, tense: Tense, *, negated: bool) -> str:
        """Return the English verb, a space and its preposition, if any: "crossed ", "did not cross "."""
        if negated:
            verb = f"did not {self.english}" if tense == "past" else f"does not {self.english}"
        else:
            verb = self.past if tense == "past" else self.third
        return f"{verb} {self.english_preposition}"

    def french(self, tense: Tense) -> str:
        """Return the French word between "ne" and "pas": "traverse", "a" (traversé), "craignait"."""
        if tense == "present":
            return self.present
        return self.auxiliary if self.participle else self.imperfect


@dataclass(frozen=True, eq=False)
class Word:
    """A word or a fixed phrase, with one translation."""

    english: str
    french: str


PEOPLE = frozenset({"person"})
LIVING = PEOPLE | {"animal"}
PLACES = frozenset({"way", "water", "land", "building"})
BUILT = frozenset({"building", "landmark"})
OBJECTS = frozenset({"thing", "container"})
ALL = LIVING | PLACES | BUILT | OBJECTS | {"vehicle"}
_GROUPS = {"living": LIVING, "places": PLACES, "built": BUILT, "objects": OBJECTS, "all": ALL}
_LEXICON = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _kinds(listed: Sequence[str]) -> frozenset[str]:
    return frozenset().union(*(_GROUPS.get(name, {name}) for name in listed))


def _verb(facts: dict[str, Any]) -> Verb:
    reasons = {
        why: Reasons(**{of: tuple(words) for of, words in facts[why].items()})
        for why in facts.keys() & {"because", "because_not"}
    }
    forms: dict[str, Any] = {**facts, **reasons, "kinds": _kinds(facts["kinds"])}
    return Verb(**forms)


NOUNS = tuple(
    Noun(english, french, gender, kind)
    for kind, genders in _LEXICON["nouns"].items()
    for gender, words in genders.items()
    for english, french in words.items()
)
ADJECTIVES = tuple(Adjective(**facts | {"kinds": _kinds(facts["kinds"])}) for facts in _LEXICON["adjectives"])
WISHES = tuple(Wish(**facts | {"kinds": _kinds(facts["kinds"])}) for facts in _LEXICON["wishes"])
PREDICATES: tuple[Predicate, ...] = (*ADJECTIVES, *WISHES)
VERBS = tuple(map(_verb, _LEXICON["verbs"]))

ARTICLES = ("the", "a", "an")
INTENSIFIERS = (Word("too", "trop"), Word("very", "très"), Word("so", "si"), Word("really", "vraiment"))
ENOUGH = Word("enough", "assez")
PREPOSITIONS = (Word("behind", "derrière"), Word("near", "près de"), Word("in front of", "devant"))
CONNECTIVES = (Word("as", "car"), Word("because", "parce que"), Word("since", "puisque"))
FRONTED_CONNECTIVES = (Word("as", "comme"), *CONNECTIVES[1:])
CONJUNCTIONS = (Word("and", "et"), Word("but", "mais"))
ADVERBIALS: dict[Tense, tuple[Word, ...]] = {
    "past": (Word("yesterday", "hier"), Word("last night", "hier soir"), Word("this morning", "ce matin")),
    "present": (
        Word("today", "aujourd'hui"),
        Word("every day", "chaque jour"),
        Word("in winter", "en hiver"),
    ),
}

NOUN = {noun.english: noun for noun in NOUNS}
VERB = {verb.english: verb for verb in VERBS}
_CONTRARY = {word: frozenset(group) for group in _LEXICON["contraries"] for word in group}
PREDICATE = {predicate.english: predicate for predicate in PREDICATES}

ELIDED = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "que": "qu'", "puisque": "puisqu'"}
_SILENT_H = ("homme", "horloge", "hôtel", "hiver")


def begins_with_vowel(french: str) -> bool:
    """Return whether the article is elided before this word: "l'âne", "l'homme", but "le hangar"."""
    return french[0] in "aeiouâéèêîô" or french.startswith(_SILENT_H)


def contrary(predicate: Predicate) -> frozenset[str]:
    """Return the words that contradict or repeat this predicate, if both describe the same noun."""
    return _CONTRARY.get(predicate.english, frozenset({predicate.english}))


def indefinite(english: str) -> str:
    """Return the article, "a" or "an", for these words."""
    return "an" if english[0] in "aeiou" else "a"


_MASCULINE = {
    "elle": "il",
    "la": "le",
    "une": "un",
    **{adjective.feminine: adjective.masculine for adjective in ADJECTIVES},
    **{adjective.before_vowel: adjective.masculine for adjective in ADJECTIVES if adjective.before_vowel},
    **{
        f"{verb.participle}e": verb.participle
        for verb in VERBS
        if verb.participle and verb.auxiliary == "est"
    },
}


def without_gender(french: str) -> str:
    """Return the masculine form of a French word that agrees with a noun; return other words unchanged."""
    return _MASCULINE.get(french, french)
