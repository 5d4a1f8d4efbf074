"""French sentences: agreement, elision, and the position of adjectives and "pas"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attnviz.trained.translator.lexicon import (
    ELIDED,
    Adjective,
    Gender,
    Noun,
    Predicate,
    Tense,
    Verb,
    Wish,
    Word,
    begins_with_vowel,
)


@dataclass(frozen=True)
class Phrase:
    """A noun with its article, and possibly an adjective.

    Attributes:
        place: Position of the noun among the English words, from 0.
    """

    noun: Noun
    place: int = 0
    definite: bool = True
    adjective: Adjective | None = None


@dataclass(frozen=True)
class Statement:
    """A statement about a noun: "was not too tired", "wanted to sleep"."""

    predicate: Predicate
    tense: Tense
    denied: bool = False
    degree: Word | None = None


@dataclass(frozen=True)
class Action:
    """An action: "did not cross the road"."""

    verb: Verb
    tense: Tense
    negated: bool
    object: Phrase


def noun_phrase(phrase: Phrase) -> list[str]:
    """Return a noun phrase: "la petite route", "une route étroite"."""
    noun, adjective = phrase.noun, phrase.adjective
    masculine = noun.gender == "m"
    article = ("le" if masculine else "la") if phrase.definite else ("un" if masculine else "une")
    if adjective is None:
        return [article, noun.french]
    agreeing = adjective.french(noun.gender)
    if not adjective.before:
        return [article, noun.french, agreeing]
    if masculine and adjective.before_vowel and begins_with_vowel(noun.french):
        agreeing = adjective.before_vowel
    return [article, agreeing, noun.french]


def statement_words(statement: Statement, gender: Gender) -> list[str]:
    """Return a statement about a noun of this gender: "n'était pas trop fatigué"."""
    if isinstance(statement.predicate, Wish):
        verb = "voulait" if statement.tense == "past" else "veut"
        return [*_negated([verb], negated=statement.denied), statement.predicate.french]
    verb = "était" if statement.tense == "past" else "est"
    degree = [statement.degree.french] if statement.degree else []
    return [*_negated([verb], negated=statement.denied), *degree, statement.predicate.french(gender)]


def action_words(action: Action, subject: Gender) -> list[str]:
    """Return an action of a subject of this gender: "n'a pas traversé la route"."""
    verb = action.verb
    words = _negated([verb.french(action.tense)], negated=action.negated)
    if action.tense == "past" and verb.participle:
        words.append(verb.participle + ("e" if verb.auxiliary == "est" and subject == "f" else ""))
    return [*words, *verb.french_preposition.split(), *noun_phrase(action.object)]


def joined(words: Iterable[str]) -> tuple[str, ...]:
    """Apply elision (l', n', qu') and contraction (du)."""
    result: list[str] = []
    for word in (part for phrase in words for part in phrase.split()):
        previous = result[-1] if result else None
        if previous in ELIDED and begins_with_vowel(word):
            result[-1] = ELIDED[previous]
        elif previous == "le" and result[-2:-1] == ["de"]:
            result[-2:] = ["du"]
        result.append(word)
    return tuple(result)


def _negated(verb: list[str], *, negated: bool) -> list[str]:
    return ["ne", *verb, "pas"] if negated else verb
