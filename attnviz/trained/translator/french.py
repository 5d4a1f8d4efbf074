"""French sentences: agreement, elision, and the place of adjectives and "pas"."""

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


def statement(spoken: Statement, gender: Gender) -> list[str]:
    """Return a statement about a noun of this gender: "n'était pas trop fatigué"."""
    if isinstance(spoken.predicate, Wish):
        verb = "voulait" if spoken.tense == "past" else "veut"
        return [*_denied([verb], denied=spoken.denied), spoken.predicate.french]
    verb = "était" if spoken.tense == "past" else "est"
    degree = [spoken.degree.french] if spoken.degree else []
    return [*_denied([verb], denied=spoken.denied), *degree, spoken.predicate.french(gender)]


def action(done: Action, subject: Gender) -> list[str]:
    """Return an action of a subject of this gender: "n'a pas traversé la route"."""
    verb = done.verb
    words = _denied([verb.french(done.tense)], denied=done.negated)
    if done.tense == "past" and verb.participle:
        words.append(verb.participle + ("e" if verb.auxiliary == "est" and subject == "f" else ""))
    return [*words, *verb.french_preposition.split(), *noun_phrase(done.object)]


def joined(words: Iterable[str]) -> tuple[str, ...]:
    """Apply elision (l', n', qu') and contraction (du)."""
    result: list[str] = []
    for word in (part for phrase in words for part in phrase.split()):
        before = result[-1] if result else None
        if before in ELIDED and begins_with_vowel(word):
            result[-1] = ELIDED[before]
        elif before == "le" and result[-2:-1] == ["de"]:
            result[-2:] = ["du"]
        result.append(word)
    return tuple(result)


def _denied(verb: list[str], *, denied: bool) -> list[str]:
    return ["ne", *verb, "pas"] if denied else verb
