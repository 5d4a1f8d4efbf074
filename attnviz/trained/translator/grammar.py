"""The grammar of the translator's training sentences, in English and French.

The grammar is a program that makes choices and writes English words. With random choices, it generates a
sentence. The parser tries all choices that generate the words of a sentence, so it accepts exactly the
sentences that the grammar generates.
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
from attnviz.trained.translator.writing import RandomWriter, Writer, derivations, perhaps

_ARTICLES = frozenset({"the", "a", "an", "le", "la", "l'", "un", "une"})
_PRONOUNS = frozenset({"it", "he", "she", "il", "elle"})


@dataclass(frozen=True)
class Pronoun:
    """The positions of "it", its translation and its referent.

    Attributes:
        source: Position of "it" among the English words, from 0.
        target: Position of "il" or "elle" among the French words.
        referent: Position of the referent among the English words.
        other: Position of the other candidate; None if the other noun is a person, which cannot be "it".
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
        pronoun: Positions of "it", its translation and its referent; None if the sentence has no "it".
        nouns: English nouns.
        descriptions: Pairs of a noun and an adjective or wish.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    family: str
    pronoun: Pronoun | None
    nouns: tuple[str, ...]
    descriptions: tuple[tuple[str, str], ...]


def sentence(random: random.Random) -> Pair:
    """Return a random sentence of the grammar."""
    return _sentence(RandomWriter(random))


def parses(words: Sequence[str]) -> Iterator[Pair]:
    """Yield every parse of English words."""
    return derivations(_sentence, words)


def format_sentence(words: Sequence[str]) -> str:
    """Format English or French words as a sentence, such as "Le chien n'a pas traversé la route.".

    If a clause or an adverbial precedes the main clause, a comma is inserted before the first article.
    """
    articles = [place for place, word in enumerate(words) if word in _ARTICLES]
    comma = articles[0] if articles and words[0] not in _PRONOUNS else 0
    text = ""
    for place, word in enumerate(words):
        text += ", " if place and place == comma else " " if text and not text.endswith("'") else ""
        text += word
    return f"{text[:1].upper()}{text[1:]}." if words else ""


Description = tuple[Noun, Predicate]
ReasonForm = Literal["noun", "pronoun", "pronoun in front"] | None

_REASON_FORMS: tuple[ReasonForm, ...] = (None, "noun", "pronoun", "pronoun in front")
_PRONOUN: dict[Gender | None, str] = {"m": "he", "f": "she", None: "it"}
_PRONOUN_FRENCH: dict[Gender, str] = {"m": "il", "f": "elle"}


@dataclass(frozen=True, eq=False)
class _Plan:
    """The choices made before the first word of an action is written.

    Attributes:
        kinds: Kinds of the subject and the object.
        genders: Genders of people, chosen in advance because "he" and "she" can precede the nouns.
        reason_form: Form of the reason, if any.
        role: Role of the noun that the reason describes.
        has_landmark: True if the sentence has a landmark.
    """

    family: Family
    verb: Verb
    kinds: tuple[str, str]
    genders: Genders
    tense: Tense
    negated: bool
    reason_form: ReasonForm
    role: int
    has_landmark: bool

    @classmethod
    def choose(cls, writer: Writer) -> _Plan:
        """Choose a plan."""
        family = writer.choose(FAMILIES, [family.share for family in FAMILIES])
        verb = sentence_parts.verb(writer, tuple(family.verbs), tuple(family.verbs.values()))
        kinds = (
            sentence_parts.kind(writer, family.subjects),
            sentence_parts.kind(writer, family.objects_of(verb)),
        )
        tense, negated = sentence_parts.tense(writer), perhaps(writer, 0.65)
        form = writer.choose(_REASON_FORMS, (10, 6, 74, 10))
        role = writer.choose((SUBJECT, OBJECT)) if form else SUBJECT
        landmark = verb.english != "fit" and perhaps(writer, 0.14)
        return cls(family, verb, kinds, writer.choose(genders(*kinds)), tense, negated, form, role, landmark)

    @property
    def allows_adverbial(self) -> bool:
        """True if the sentence can have an adverbial or a landmark; sentences with "fit" have none."""
        return self.verb.english != "fit"

    @property
    def both_living(self) -> bool:
        """True if both nouns are living; then only the verb determines the referent."""
        return LIVING.issuperset(self.kinds)

    @property
    def pronoun(self) -> str:
        """The pronoun of the noun that the reason describes."""
        return _PRONOUN[self.genders[self.role]]

    @property
    def avoided_adjectives(self) -> frozenset[str]:
        """Adjectives to avoid for both nouns, because they could be a reason for fitting or not fitting."""
        is_fitting = self.reason_form and not self.allows_adverbial
        reasons = (self.verb.because, self.verb.because_not) if is_fitting else ()
        return frozenset(word for each in reasons if each for word in (*each.of_subject, *each.of_object))

    def reasons(self, denied: bool) -> tuple[Predicate, ...]:
        """Return the predicates of possible reasons; if `denied`, the reason is the negated predicate."""
        other = self.kinds[1 - self.role]
        other_kinds = (other, "landmark") if self.has_landmark else (other,)
        return reasons(self.verb, self.negated != denied, self.role, self.kinds[self.role], other_kinds)

    def hinders(self, denied: bool) -> bool:
        """Return whether the reason's predicate, without negation, prevents the action."""
        return (self.negated == self.verb.toward) != denied


@dataclass(frozen=True, eq=False)
class _Reason:
    """A written reason: its connective, its statement, and the position of its subject."""

    connective: Word
    statement: Statement
    place: int

    @classmethod
    def write(
        cls,
        writer: Writer,
        plan: _Plan,
        connectives: tuple[Word, ...],
        subject: str,
        adjective: Adjective | None = None,
    ) -> _Reason:
        """Write "as it was too tired", the reason for the action or its absence.

        Args:
            subject: "it", or "the dog".
            adjective: The adjective that the noun already has.
        """
        connective = sentence_parts.one_of(writer, connectives)
        place = writer.write(connective.english, subject)
        # If both nouns are living, a negated reason would not determine the referent.
        denied = not plan.both_living and perhaps(writer, 0.12)
        avoided = contrary(adjective) if adjective else ()
        options = [each for each in plan.reasons(denied) if each.english not in avoided]
        statement = sentence_parts.reason(writer, plan.tense, options, denied, plan.hinders(denied))
        return cls(connective, statement, place)

    def french(self, noun: Noun, *, repeated: bool) -> list[str]:
        """Return the French words: "car il était trop fatigué", "car le chien était trop fatigué"."""
        subject = french.noun_phrase(Phrase(noun)) if repeated else [_PRONOUN_FRENCH[noun.gender]]
        return [self.connective.french, *subject, *french.statement_words(self.statement, noun.gender)]


def _sentence(writer: Writer) -> Pair:
    return writer.choose((_action, _description, _two_descriptions, _two_actions), (88, 6, 4, 2))(writer)


def _action(writer: Writer) -> Pair:
    """Write an action or its negation, usually with a reason that describes one of the two nouns."""
    plan = _Plan.choose(writer)
    reason = None
    front: list[str] = []
    if plan.reason_form == "pronoun in front":
        reason = _Reason.write(writer, plan, FRONTED_CONNECTIVES, plan.pronoun)
    elif plan.allows_adverbial:
        front = sentence_parts.adverbial(writer, plan.tense, 0.06)
    phrases, main = _write_main_clause(writer, plan, reason)
    if plan.allows_adverbial and not front:
        main += sentence_parts.adverbial(writer, plan.tense, 0.06)
    described: list[Description] = [(each.noun, each.adjective) for each in phrases if each.adjective]
    if not plan.reason_form:
        return _pair(writer, plan.family.name, [*front, *main], phrases, described)

    referent, other = phrases[plan.role], phrases[1 - plan.role]
    repeated = plan.reason_form == "noun"
    if reason:
        words = [*reason.french(referent.noun, repeated=False), *main]
    else:
        subject = f"the {referent.noun.english}" if repeated else plan.pronoun
        reason = _Reason.write(writer, plan, CONNECTIVES, subject, referent.adjective)
        words = [*front, *main, *reason.french(referent.noun, repeated=repeated)]
    described.append((referent.noun, reason.statement.predicate))
    if repeated or plan.pronoun != "it":
        return _pair(writer, plan.family.name, words, phrases, described)
    candidate = other.place if other.noun.pronoun == "it" else None
    pronoun = reason.place, referent.place, candidate
    return _pair(writer, plan.family.name, words, phrases, described, pronoun)


def _write_main_clause(writer: Writer, plan: _Plan, reason: _Reason | None) -> tuple[list[Phrase], list[str]]:
    """Write subject, verb, object and an optional landmark; return the nouns and the French words.

    Args:
        reason: The reason that precedes the clause, if any; its predicate is not repeated or contradicted.
    """
    avoided = [plan.avoided_adjectives, plan.avoided_adjectives]
    if reason:
        avoided[plan.role] |= contrary(reason.statement.predicate)
    subject = sentence_parts.phrase(writer, plan.kinds[SUBJECT], plan.genders[SUBJECT], avoided[SUBJECT])
    writer.write(plan.verb.conjugate(plan.tense, negated=plan.negated))
    object_ = sentence_parts.phrase(
        writer, plan.kinds[OBJECT], plan.genders[OBJECT], avoided[OBJECT], subject.noun, definite=plan.negated
    )
    action = Action(plan.verb, plan.tense, plan.negated, object_)
    words = [*french.noun_phrase(subject), *french.action_words(action, subject.noun.gender)]
    if not plan.has_landmark:
        return [subject, object_], words
    # "near" is frequent because "près du" is hard to learn.
    preposition = sentence_parts.one_of(writer, PREPOSITIONS, (1, 3, 1))
    writer.write(preposition.english)
    landmark = sentence_parts.phrase(writer, "landmark", bare=True)
    return [subject, object_, landmark], [*words, preposition.french, *french.noun_phrase(landmark)]


def _description(writer: Writer) -> Pair:
    """Write a description: "the road was too narrow"."""
    tense = sentence_parts.tense(writer)
    front = sentence_parts.adverbial(writer, tense, 0.1)
    phrase = sentence_parts.phrase(writer, sentence_parts.kind(writer, sentence_parts.KINDS), definite=True)
    statement = sentence_parts.description(writer, tense, phrase)
    words = [*front, *french.noun_phrase(phrase), *french.statement_words(statement, phrase.noun.gender)]
    described: list[Description] = [(phrase.noun, statement.predicate)]
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
    words = [*french.noun_phrase(one), *french.statement_words(first, one.noun.gender), "et"]
    words += [*french.noun_phrase(other), *french.statement_words(second, other.noun.gender)]
    described = [(one.noun, first.predicate), (other.noun, second.predicate)]
    return _pair(writer, "two descriptions", words, [one, other], described)


def _two_actions(writer: Writer) -> Pair:
    """Write two actions, or one action and the negation of another."""
    family = writer.choose([family for family in FAMILIES if "cross" in {v.english for v in family.verbs}])
    tense = sentence_parts.tense(writer)
    phrases = [
        sentence_parts.phrase(writer, sentence_parts.kind(writer, family.subjects), definite=True, bare=True)
    ]
    subject = phrases[0].noun
    words = french.noun_phrase(phrases[0])
    conjunction = writer.choose(CONJUNCTIONS)
    for negated in (False, conjunction.english == "but"):
        if len(phrases) == 2:
            writer.write(conjunction.english)
            words.append(conjunction.french)
        verb = sentence_parts.verb(writer, tuple(family.verbs))
        writer.write(verb.conjugate(tense, negated=negated))
        kind = sentence_parts.kind(writer, family.objects_of(verb))
        phrases.append(
            sentence_parts.phrase(writer, kind, other_than=phrases[-1].noun, definite=True, bare=True)
        )
        words += french.action_words(Action(verb, tense, negated, phrases[-1]), subject.gender)
    return _pair(writer, "two actions", words, phrases, [])


def _pair(
    writer: Writer,
    family: str,
    words: list[str],
    phrases: list[Phrase],
    described: list[Description],
    pronoun: tuple[int, int, int | None] | None = None,
) -> Pair:
    """Return the written sentence with its translation.

    Args:
        words: French words, before elision.
        described: Nouns with their adjectives or wishes.
        pronoun: Positions of "it", its referent and the other candidate.
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
