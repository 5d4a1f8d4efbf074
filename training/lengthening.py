"""Sentences of increasing length: clauses about people are inserted between "it" and its referent.

"The dog did not cross the road as it was too tired." becomes "The dog did not cross the road and the king was
calm as it was too tired." People are "he" or "she", so that "it" still refers to the dog.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from attnviz.trained.translator import french, sentence_parts
from attnviz.trained.translator.french import Phrase, Statement
from attnviz.trained.translator.grammar import Pair, Pronoun
from attnviz.trained.translator.lexicon import Adjective, Noun, Predicate, Tense

PEOPLE = sentence_parts.nouns("person")

MAX_CLAUSES = len(PEOPLE)
"""Maximum number of inserted clauses, one about each person in the vocabulary."""

_BECAUSE = ("as", "because", "since")
_CAR = ("car", "parce", "puisque", "puisqu'")


@dataclass(frozen=True)
class Clause:
    """An inserted clause: "… and the king was calm"."""

    person: Noun
    predicate: Predicate

    def english(self, tense: Tense) -> tuple[str, ...]:
        """Return the English words: "and the king was calm", "and the king wanted to sleep"."""
        if isinstance(self.predicate, Adjective):
            verb = ["was" if tense == "past" else "is"]
        else:
            verb = ["wanted" if tense == "past" else "wants", "to"]
        return ("and", "the", self.person.english, *verb, self.predicate.english)

    def french(self, tense: Tense) -> tuple[str, ...]:
        """Return the French words: "et le roi était calme", "et le roi voulait dormir"."""
        person = french.noun_phrase(Phrase(self.person))
        return french.joined(
            ["et", *person, *french.statement(Statement(self.predicate, tense), self.person.gender)]
        )


def clauses(dice: random.Random, count: int) -> list[Clause]:
    """Return random clauses about different people.

    Raises:
        ValueError: `count` exceeds `MAX_CLAUSES`.
    """
    predicates = sentence_parts.predicates("person")
    return [Clause(person, dice.choice(predicates)) for person in dice.sample(PEOPLE, count)]


@dataclass(frozen=True)
class Elastic:
    """A sentence that can be lengthened: both possible referents precede the clause of "it".

    Attributes:
        pair: The sentence.
        it: Its pronoun.
        tense: Tense of the clause of "it", and of inserted clauses.
    """

    pair: Pair
    it: Pronoun
    tense: Tense

    @classmethod
    def of(cls, pair: Pair) -> Elastic | None:
        """Return the sentence as an elastic one; None if it cannot be lengthened."""
        it = pair.pronoun
        if it is None or it.other is None or max(it.referent, it.other) > it.source:
            return None
        if pair.source[it.source - 1] not in _BECAUSE:
            return None
        past = pair.source[it.source + 1] in {"was", "wanted", "did"}
        return cls(pair, it, "past" if past else "present")

    @property
    def room(self) -> tuple[int, int]:
        """The positions of "as" and "car", before which clauses are inserted."""
        car = max(place for place, word in enumerate(self.pair.target[: self.it.target]) if word in _CAR)
        return self.it.source - 1, car

    @property
    def words_apart(self) -> int:
        """Distance of "it" from its referent, in words."""
        return self.it.source - self.it.referent

    def stretched(self, inserted: Sequence[Clause]) -> Elastic:
        """Return the sentence with clauses inserted before the clause of "it", in both languages."""
        english = [word for clause in inserted for word in clause.english(self.tense)]
        target = [word for clause in inserted for word in clause.french(self.tense)]
        it = replace(self.it, source=self.it.source + len(english), target=self.it.target + len(target))
        source_place, target_place = self.room
        pair = replace(
            self.pair,
            source=(*self.pair.source[:source_place], *english, *self.pair.source[source_place:]),
            target=(*self.pair.target[:target_place], *target, *self.pair.target[target_place:]),
            pronoun=it,
        )
        return Elastic(pair, it, self.tense)
