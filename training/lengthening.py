"""Lengthen sentences with clauses about people between "it" and its referent.

"The dog did not cross the road as it was too tired." becomes "The dog did not cross the road and the king was
calm as it was too tired." People are referred to as "he" or "she", so "it" can still refer only to the nouns
of the original sentence.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from attnviz.trained.translator import french, sentence_parts
from attnviz.trained.translator.french import Phrase, Statement
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.lexicon import Adjective, Noun, Predicate, Tense

PEOPLE = sentence_parts.nouns("person")

MAX_CLAUSES = len(PEOPLE)
"""Maximum number of inserted clauses: one for each person in the vocabulary."""

_BECAUSE = ("as", "because", "since")
_CAR = ("car", "parce", "puisque", "puisqu'")

Clause = tuple[Noun, Predicate]
"""An inserted clause: a person and a predicate."""


def clauses(generator: random.Random, count: int) -> list[Clause]:
    """Return `count` (at most `MAX_CLAUSES`) random clauses about different people."""
    predicates = sentence_parts.predicates("person")
    return [(person, generator.choice(predicates)) for person in generator.sample(PEOPLE, count)]


def can_be_lengthened(pair: Pair) -> bool:
    """Return whether both possible referents of "it" precede "as it", "because it" or "since it"."""
    it = pair.pronoun
    if it is None or it.other is None or max(it.referent, it.other) > it.source:
        return False
    return pair.source[it.source - 1] in _BECAUSE


def lengthened(pair: Pair, inserted: Sequence[Clause]) -> Pair:
    """Insert clauses before the clause of "it", in both languages; the pair must pass `can_be_lengthened`."""
    assert pair.pronoun is not None  # noqa: S101 - checked by `can_be_lengthened`
    it, source, target = pair.pronoun, pair.source, pair.target
    tense: Tense = "past" if source[it.source + 1] in {"was", "wanted", "did"} else "present"
    english = [word for clause in inserted for word in _english(*clause, tense)]
    words = [word for clause in inserted for word in _french(*clause, tense)]
    at, car = it.source - 1, max(place for place, word in enumerate(target[: it.target]) if word in _CAR)
    return replace(
        pair,
        source=(*source[:at], *english, *source[at:]),
        target=(*target[:car], *words, *target[car:]),
        pronoun=replace(it, source=it.source + len(english), target=it.target + len(words)),
    )


def _english(person: Noun, predicate: Predicate, tense: Tense) -> tuple[str, ...]:
    """Return the English words: "and the king was calm", "and the king wanted to sleep"."""
    if isinstance(predicate, Adjective):
        verb = ["was" if tense == "past" else "is"]
    else:
        verb = ["wanted" if tense == "past" else "wants", "to"]
    return ("and", "the", person.english, *verb, predicate.english)


def _french(person: Noun, predicate: Predicate, tense: Tense) -> tuple[str, ...]:
    """Return the French words: "et le roi était calme", "et le roi voulait dormir"."""
    statement = french.statement_words(Statement(predicate, tense), person.gender)
    return french.joined(["et", *french.noun_phrase(Phrase(person)), *statement])
