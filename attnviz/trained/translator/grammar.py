"""The grammar of the translator's training sentences, in English and French.

The grammar is a program that makes choices and writes English words. Random choices generate a sentence;
trying all choices that generate given words parses it. So exactly the generated sentences can be parsed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from attnviz.trained.translator import french, sentence_parts
from attnviz.trained.translator.families import FAMILIES, OBJECT, SUBJECT, Family, Genders, genders, reasons
from attnviz.trained.translator.french import Action, Phrase, Statement
from attnviz.trained.translator.lexicon import (
    CONJUNCTIONS,
    CONNECTIVES,
    FRONTED_CONNECTIVES,
    LIVING,
    PREPOSITIONS,
    Adjective,
    Gender,
    Noun,
    Predicate,
    Tense,
    Verb,
    Word,
    contrary,
)
from attnviz.trained.translator.writing import Dice, Writer, derivations, perhaps

_ARTICLES = frozenset({"the", "a", "an", "le", "la", "l'", "un", "une"})
_PRONOUNS = frozenset({"it", "he", "she", "il", "elle"})


@dataclass(frozen=True)
class Pronoun:
    """The position of "it", and its referent.

    Attributes:
        source: Position of "it" among the English words, from 0.
        target: Position of "il" or "elle" among the French words.
        referent: Position of its referent among the English words.
        other: Position of the other candidate; None if that is a person, which is not "it".
    """

    source: int
    target: int
    referent: int
    other: int | None


@dataclass(frozen=True)
class Pair:
    """One sentence in both languages.

    Attributes:
        source, target: English and French words.
        family: Name of the sentence's family.
        pronoun: The pronoun "it"; None if the sentence has none.
        nouns: English nouns.
        descriptions: Pairs (noun, adjective or wish).
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    family: str
    pronoun: Pronoun | None
    nouns: tuple[str, ...]
    descriptions: tuple[tuple[str, str], ...]


def sentence(random: random.Random) -> Pair:
    """Return a random sentence of the grammar."""
    return _sentence(Dice(random))


def understood(words: Sequence[str]) -> Iterator[Pair]:
    """Yield every parse of English words."""
    return derivations(_sentence, words)


def written(words: Sequence[str]) -> str:
    """Format English or French words as a sentence, such as "Le chien n'a pas traversé la route.".

    A clause or an adverbial before the main clause ends with a comma, before the first article.
    """
    articles = [place for place, word in enumerate(words) if word in _ARTICLES]
    comma = articles[0] if articles and words[0] not in _PRONOUNS else 0
    text = ""
    for place, word in enumerate(words):
        text += ", " if place and place == comma else " " if text and not text.endswith("'") else ""
        text += word
    return f"{text[:1].upper()}{text[1:]}." if words else ""


Description = tuple[Noun, Predicate]
Why = Literal["noun", "pronoun", "pronoun in front"] | None

_WHY: tuple[Why, ...] = (None, "noun", "pronoun", "pronoun in front")
_PRONOUN: dict[Gender | None, str] = {"m": "he", "f": "she", None: "it"}
_PRONOUN_FRENCH: dict[Gender, str] = {"m": "il", "f": "elle"}


@dataclass(frozen=True, eq=False)
class _Plan:
    """The choices about an action before its first word.

    Attributes:
        kinds: Kinds of the subject and the object.
        genders: Genders of people: "he" and "she" can precede the nouns.
        why: Form of the reason, if any.
        role: Role of the noun that the reason describes.
        beside: True if the sentence has a landmark.
    """

    family: Family
    verb: Verb
    kinds: tuple[str, str]
    genders: Genders
    tense: Tense
    negated: bool
    why: Why
    role: int
    beside: bool

    @classmethod
    def chosen(cls, writer: Writer) -> _Plan:
        """Choose a plan."""
        family = writer.choose(FAMILIES, [family.share for family in FAMILIES])
        verb = sentence_parts.verb(writer, tuple(family.verbs), tuple(family.verbs.values()))
        kinds = (
            sentence_parts.kind(writer, family.subjects),
            sentence_parts.kind(writer, family.objects_of(verb)),
        )
        tense, negated = sentence_parts.tense(writer), perhaps(writer, 0.65)
        why = writer.choose(_WHY, (10, 6, 74, 10))
        role = writer.choose((SUBJECT, OBJECT)) if why else SUBJECT
        beside = verb.english != "fit" and perhaps(writer, 0.14)
        return cls(family, verb, kinds, writer.choose(genders(*kinds)), tense, negated, why, role, beside)

    @property
    def anywhere(self) -> bool:
        """True if time and place are possible: fitting in a bag does not depend on them."""
        return self.verb.english != "fit"

    @property
    def alike(self) -> bool:
        """True if only the verb determines the referent; then the reason is not negated."""
        return LIVING.issuperset(self.kinds)

    @property
    def pronoun(self) -> str:
        """The pronoun of the noun that the reason describes."""
        return _PRONOUN[self.genders[self.role]]

    @property
    def sizes(self) -> frozenset[str]:
        """Adjectives to avoid for both nouns, because they would be a reason for fitting."""
        named = (self.verb.because, self.verb.because_not) if self.why and not self.anywhere else ()
        return frozenset(word for each in named if each for word in (*each.of_subject, *each.of_object))

    def reasons(self, denied: bool) -> tuple[Predicate, ...]:
        """Return the predicates, affirmed or denied, that apply to the reason's noun and to no other."""
        other = self.kinds[1 - self.role]
        unlike = (other, "landmark") if self.beside else (other,)
        return reasons(self.verb, self.negated != denied, self.role, self.kinds[self.role], unlike)

    def hinders(self, denied: bool) -> bool:
        """Return whether the reason prevents the action."""
        return (self.negated == self.verb.toward) != denied


@dataclass(frozen=True, eq=False)
class _Because:
    """A written reason: connective, statement, and position of the pronoun."""

    connective: Word
    spoken: Statement
    place: int

    @classmethod
    def written(
        cls,
        writer: Writer,
        plan: _Plan,
        connectives: tuple[Word, ...],
        named: str,
        adjective: Adjective | None = None,
    ) -> _Because:
        """Write "as it was too tired", the reason for the action or its absence.

        Args:
            named: "it", or "the dog".
            adjective: The noun's attribute.
        """
        connective = sentence_parts.one_of(writer, connectives)
        place = writer.write(connective.english, named)
        denied = not plan.alike and perhaps(writer, 0.12)
        avoided = contrary(adjective) if adjective else ()
        options = [each for each in plan.reasons(denied) if each.english not in avoided]
        spoken = sentence_parts.reason(writer, plan.tense, options, denied, plan.hinders(denied))
        return cls(connective, spoken, place)

    def french(self, noun: Noun, *, repeated: bool) -> list[str]:
        """Return the French words: "car il était trop fatigué", "car le chien était trop fatigué"."""
        named = french.noun_phrase(Phrase(noun)) if repeated else [_PRONOUN_FRENCH[noun.gender]]
        return [self.connective.french, *named, *french.statement(self.spoken, noun.gender)]


def _sentence(writer: Writer) -> Pair:
    return writer.choose((_action, _description, _two_descriptions, _two_actions), (88, 6, 4, 2))(writer)


def _action(writer: Writer) -> Pair:
    """Write an action or its negation, usually with a reason that describes one of the two nouns."""
    plan = _Plan.chosen(writer)
    because = None
    front: list[str] = []
    if plan.why == "pronoun in front":
        because = _Because.written(writer, plan, FRONTED_CONNECTIVES, plan.pronoun)
    elif plan.anywhere:
        front = sentence_parts.adverbial(writer, plan.tense, 0.06)
    phrases, main = _write_main_clause(writer, plan, because)
    if plan.anywhere and not front:
        main += sentence_parts.adverbial(writer, plan.tense, 0.06)
    described: list[Description] = [(each.noun, each.adjective) for each in phrases if each.adjective]
    if not plan.why:
        return _pair(writer, plan.family.name, [*front, *main], phrases, described)

    meant, other = phrases[plan.role], phrases[1 - plan.role]
    repeated = plan.why == "noun"
    if because:
        words = [*because.french(meant.noun, repeated=False), *main]
    else:
        named = f"the {meant.noun.english}" if repeated else plan.pronoun
        because = _Because.written(writer, plan, CONNECTIVES, named, meant.adjective)
        words = [*front, *main, *because.french(meant.noun, repeated=repeated)]
    described.append((meant.noun, because.spoken.predicate))
    if repeated or plan.pronoun != "it":
        return _pair(writer, plan.family.name, words, phrases, described)
    candidate = other.place if other.noun.pronoun == "it" else None
    return _pair(writer, plan.family.name, words, phrases, described, (because.place, meant.place, candidate))


def _write_main_clause(
    writer: Writer, plan: _Plan, because: _Because | None
) -> tuple[list[Phrase], list[str]]:
    """Write subject, verb, object and an optional landmark; return the nouns and the French words.

    Args:
        because: A reason written before, whose predicate is not repeated.
    """
    avoided = [plan.sizes, plan.sizes]
    if because:
        avoided[plan.role] |= contrary(because.spoken.predicate)
    subject = sentence_parts.phrase(writer, plan.kinds[SUBJECT], plan.genders[SUBJECT], avoided[SUBJECT])
    writer.write(plan.verb.spoken(plan.tense, negated=plan.negated))
    done_to = sentence_parts.phrase(
        writer, plan.kinds[OBJECT], plan.genders[OBJECT], avoided[OBJECT], subject.noun, definite=plan.negated
    )
    action = Action(plan.verb, plan.tense, plan.negated, done_to)
    words = [*french.noun_phrase(subject), *french.action(action, subject.noun.gender)]
    if not plan.beside:
        return [subject, done_to], words
    preposition = sentence_parts.one_of(
        writer, PREPOSITIONS, (1, 3, 1)
    )  # often "near": "du" is hard to learn
    writer.write(preposition.english)
    landmark = sentence_parts.phrase(writer, "landmark", bare=True)
    return [subject, done_to, landmark], [*words, preposition.french, *french.noun_phrase(landmark)]


def _description(writer: Writer) -> Pair:
    """Write a description: "the road was too narrow"."""
    tense = sentence_parts.tense(writer)
    front = sentence_parts.adverbial(writer, tense, 0.1)
    phrase = sentence_parts.phrase(writer, sentence_parts.kind(writer, sentence_parts.KINDS), definite=True)
    spoken = sentence_parts.description(writer, tense, phrase)
    words = [*front, *french.noun_phrase(phrase), *french.statement(spoken, phrase.noun.gender)]
    described: list[Description] = [(phrase.noun, spoken.predicate)]
    if phrase.adjective:
        described.append((phrase.noun, phrase.adjective))
    return _pair(writer, "a description", words, [phrase], described)


def _two_descriptions(writer: Writer) -> Pair:
    """Write two descriptions: "the dog was tired and the road was narrow"."""
    tense = sentence_parts.tense(writer)
    one = sentence_parts.phrase(
        writer, sentence_parts.kind(writer, sentence_parts.KINDS), definite=True, bare=True
    )
    first = sentence_parts.description(writer, tense, one)
    writer.write("and")
    other = sentence_parts.phrase(
        writer,
        sentence_parts.kind(writer, sentence_parts.KINDS),
        other_than=one.noun,
        definite=True,
        bare=True,
    )
    second = sentence_parts.description(writer, tense, other)
    words = [*french.noun_phrase(one), *french.statement(first, one.noun.gender), "et"]
    words += [*french.noun_phrase(other), *french.statement(second, other.noun.gender)]
    described = [(one.noun, first.predicate), (other.noun, second.predicate)]
    return _pair(writer, "two descriptions", words, [one, other], described)


def _two_actions(writer: Writer) -> Pair:
    """Write two actions, or an action and the negation of another."""
    family = writer.choose([family for family in FAMILIES if "cross" in {v.english for v in family.verbs}])
    tense = sentence_parts.tense(writer)
    phrases = [
        sentence_parts.phrase(writer, sentence_parts.kind(writer, family.subjects), definite=True, bare=True)
    ]
    subject = phrases[0].noun
    words = french.noun_phrase(phrases[0])
    joint = writer.choose(CONJUNCTIONS)
    for negated in (False, joint.english == "but"):
        if len(phrases) == 2:
            writer.write(joint.english)
            words.append(joint.french)
        verb = sentence_parts.verb(writer, tuple(family.verbs))
        writer.write(verb.spoken(tense, negated=negated))
        kind = sentence_parts.kind(writer, family.objects_of(verb))
        phrases.append(
            sentence_parts.phrase(writer, kind, other_than=phrases[-1].noun, definite=True, bare=True)
        )
        words += french.action(Action(verb, tense, negated, phrases[-1]), subject.gender)
    return _pair(writer, "two actions", words, phrases, [])


def _pair(
    writer: Writer,
    family: str,
    words: list[str],
    phrases: list[Phrase],
    described: list[Description],
    pronoun: tuple[int, int, int | None] | None = None,
) -> Pair:
    """Return the written sentence as a pair.

    Args:
        words: French words, before elision.
        described: Nouns with their adjectives or wishes.
        pronoun: Positions of "it", its referent, and the other candidate.
    """
    target = french.joined(words)
    it = None
    if pronoun:
        source, referent, other = pronoun
        row = next(place for place, word in enumerate(target) if word in _PRONOUN_FRENCH.values())
        it = Pronoun(source, row, referent, other)
    nouns = tuple(phrase.noun.english for phrase in phrases)
    descriptions = tuple((noun.english, predicate.english) for noun, predicate in described)
    return Pair(tuple(writer.words), target, family, it, nouns, descriptions)
