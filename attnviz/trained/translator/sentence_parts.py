"""Parts of English sentences: noun phrases, verbs, statements, tense and adverbials."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from attnviz.trained.translator.french import Phrase, Statement
from attnviz.trained.translator.lexicon import (
    ADJECTIVES,
    ADVERBIALS,
    ENOUGH,
    INTENSIFIERS,
    NOUNS,
    PREDICATES,
    Adjective,
    Gender,
    Noun,
    Predicate,
    Tense,
    Verb,
    Wish,
    Word,
    contrary,
    indefinite,
)
from attnviz.trained.translator.writing import Writer, perhaps

KINDS = tuple(dict.fromkeys(noun.kind for noun in NOUNS))

_TENSES: tuple[Tense, Tense] = ("past", "present")
_TOO, _VERY, _SO, _REALLY = INTENSIFIERS
_DEGREES: dict[tuple[bool | None, bool], dict[Word | None, int]] = {
    # (hinders, denied): relative frequencies of the degrees
    (True, False): {_TOO: 12, _VERY: 2, _SO: 2, _REALLY: 1, None: 3},
    (True, True): {_TOO: 5, _VERY: 2, None: 3},
    (False, False): {_VERY: 3, _SO: 2, _REALLY: 2, ENOUGH: 3, None: 6},
    (False, True): {_VERY: 3, ENOUGH: 4, None: 3},
    (None, False): {_VERY: 3, _SO: 2, _REALLY: 2, None: 6},
    (None, True): {_VERY: 1, None: 1},
}


def kind(writer: Writer, kinds: Sequence[str]) -> str:
    """Choose the kind of the next noun."""
    return writer.choose_word(kinds, _english_nouns)


def tense(writer: Writer) -> Tense:
    """Choose the tense."""
    return writer.choose(_TENSES, (3, 1))


def one_of(writer: Writer, words: Sequence[Word], shares: Sequence[int] | None = None) -> Word:
    """Choose an uninflected word or phrase."""
    return writer.choose_word(words, lambda word: (word.english.split()[0],), shares)


def verb(writer: Writer, verbs: Sequence[Verb], shares: Sequence[int] | None = None) -> Verb:
    """Choose a verb."""
    return writer.choose_word(verbs, lambda verb: (verb.english, verb.past, verb.third), shares)


def phrase(
    writer: Writer,
    kind: str,
    gender: Gender | None = None,
    avoided: frozenset[str] = frozenset(),
    other_than: Noun | None = None,
    *,
    definite: bool = False,
    bare: bool = False,
) -> Phrase:
    """Write "the road" or "a narrow road".

    Args:
        gender: Gender of the noun; None for any.
        avoided: Excluded adjectives.
        other_than: Excluded noun.
        definite: Always use "the".
        bare: Use no adjective.
    """
    definite = definite or perhaps(writer, 0.8)
    adjective = None
    if not bare and perhaps(writer, 0.18):
        options = [each for each in _adjectives(kind) if each.english not in avoided]
        adjective = writer.choose_word(options, _english_form)
    noun = writer.choose_word([each for each in nouns(kind, gender) if each is not other_than], _english_form)
    words = f"{adjective.english} {noun.english}" if adjective else noun.english
    place = writer.write("the" if definite else indefinite(words), words)
    return Phrase(noun, place, definite, adjective)


def description(writer: Writer, tense: Tense, subject: Phrase) -> Statement:
    """Write "was too narrow" as a description, not as a reason."""
    denied = perhaps(writer, 0.25)
    avoided = contrary(subject.adjective) if subject.adjective else ()
    options = [each for each in predicates(subject.noun.kind) if each.english not in avoided]
    predicate = writer.choose_word(options, _english_form)
    too_much = True if predicate.english in {"big", "small"} else predicate.hinders
    return _state(writer, predicate, tense, denied, too_much)


def reason(
    writer: Writer, tense: Tense, options: Sequence[Predicate], denied: bool, hinders: bool
) -> Statement:
    """Write "was too tired" as a reason for an action or its absence.

    Args:
        denied: Negate the statement.
        hinders: Whether the options, without negation, prevent the action.
    """
    return _state(writer, writer.choose_word(options, _english_form), tense, denied, hinders)


def adverbial(writer: Writer, tense: Tense, share: float) -> list[str]:
    """Write an adverbial of time with probability `share`; return its French words, or []."""
    if not perhaps(writer, share):
        return []
    time = one_of(writer, ADVERBIALS[tense])
    writer.write(time.english)
    return [time.french]


def _state(
    writer: Writer, predicate: Predicate, tense: Tense, denied: bool, hinders: bool | None
) -> Statement:
    past = tense == "past"
    if isinstance(predicate, Wish):
        wants = ("did not want" if past else "does not want") if denied else ("wanted" if past else "wants")
        writer.write(wants, "to", predicate.english)
        return Statement(predicate, tense, denied)
    degree = None
    if not predicate.absolute:
        degrees = _DEGREES[hinders, denied]
        degree = writer.choose(tuple(degrees), tuple(degrees.values()))
    writer.write("was" if past else "is", "not" if denied else "")
    words = [degree.english, predicate.english] if degree else [predicate.english]
    writer.write(*(reversed(words) if degree is ENOUGH else words))
    return Statement(predicate, tense, denied, degree)


@cache
def nouns(kind: str, gender: Gender | None = None) -> tuple[Noun, ...]:
    """Return the nouns of a kind and, optionally, a gender."""
    return tuple(noun for noun in NOUNS if noun.kind == kind and gender in {None, noun.gender})


@cache
def _english_nouns(kind: str) -> tuple[str, ...]:
    return tuple(noun.english for noun in nouns(kind))


@cache
def _adjectives(kind: str) -> tuple[Adjective, ...]:
    return tuple(adjective for adjective in ADJECTIVES if kind in adjective.kinds)


@cache
def predicates(kind: str) -> tuple[Predicate, ...]:
    """Return the predicates for a kind of noun, without colours, which are only used before a noun."""
    return tuple(
        each
        for each in PREDICATES
        if kind in each.kinds and not (isinstance(each, Adjective) and each.colour)
    )


def _english_form(word: Noun | Predicate) -> tuple[str]:
    return (word.english,)
