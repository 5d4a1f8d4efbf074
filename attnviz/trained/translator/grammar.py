"""All sentences that the small translator learns from, each in English and in French, made by one grammar.

The grammar is a program that makes one choice after the other, and says English words in between. If chance
makes the choices, a new sentence comes out. If all choices are tried, and those kept that say the words of a
given sentence, that one is understood. So what can be made is what can be understood.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from attnviz.trained.translator import french, saying
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
from attnviz.trained.translator.telling import Dice, Teller, perhaps, retellings

_ARTICLES = frozenset({"the", "a", "an", "le", "la", "l'", "un", "une"})
_PRONOUNS = frozenset({"it", "he", "she", "il", "elle"})


@dataclass(frozen=True)
class Pronoun:
    """Where "it" stands, and what it means.

    Attributes:
        source: the place of "it" among the English words, from 0.
        target: the place of "il" or "elle" among the French words.
        referent: the place of the noun that it means, among the English words.
        other: the place of the other noun that it could mean; None if that is a person, who is no "it".
    """

    source: int
    target: int
    referent: int
    other: int | None


@dataclass(frozen=True)
class Pair:
    """One sentence in both languages.

    Attributes:
        source, target: the English and the French words.
        family: what sort of sentence it is.
        pronoun: what "it" means; None if the sentence has none.
        nouns: the English nouns in it.
        descriptions: what is said of which noun, as (noun, adjective or wish).
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    family: str
    pronoun: Pronoun | None
    nouns: tuple[str, ...]
    descriptions: tuple[tuple[str, str], ...]


def sentence(random: random.Random) -> Pair:
    """One sentence of the grammar, by chance."""
    return _sentence(Dice(random))


def understood(words: Sequence[str]) -> Iterator[Pair]:
    """Every way in which the grammar makes these English words; none if it does not."""
    return retellings(_sentence, words)


def written(words: Sequence[str]) -> str:
    """English or French words as one writes them, as in "Le chien n'a pas traversé la route".

    A clause or an adverbial in front of a sentence ends with a comma, where its first article stands.
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
    """What is chosen about an action before its first word is said.

    Attributes:
        kinds: the sorts of the subject and of the object.
        genders: theirs, where they are people: "he" and "she" may come before the nouns, and tell them apart.
        why: how the reason is told, if one is.
        role: whose fault it is, the subject's or the object's.
        beside: whether a landmark is mentioned.
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
    def chosen(cls, teller: Teller) -> _Plan:
        """A plan, as the teller chooses."""
        family = teller.choose(FAMILIES, [family.share for family in FAMILIES])
        verb = saying.verb(teller, tuple(family.verbs), tuple(family.verbs.values()))
        kinds = saying.kind(teller, family.subjects), saying.kind(teller, family.objects_of(verb))
        tense, negated = saying.tense(teller), perhaps(teller, 0.65)
        why = teller.choose(_WHY, (10, 6, 74, 10))
        role = teller.choose((SUBJECT, OBJECT)) if why else SUBJECT
        beside = verb.english != "fit" and perhaps(teller, 0.14)
        return cls(family, verb, kinds, teller.choose(genders(*kinds)), tense, negated, why, role, beside)

    @property
    def anywhere(self) -> bool:
        """Whether it makes sense to say where and when: what fits in a bag does so anywhere and always."""
        return self.verb.english != "fit"

    @property
    def alike(self) -> bool:
        """Whether only the verb tells which of the two is the reason: then nothing is denied besides."""
        return LIVING.issuperset(self.kinds)

    @property
    def pronoun(self) -> str:
        """The one that means the noun which is the reason."""
        return _PRONOUN[self.genders[self.role]]

    @property
    def sizes(self) -> frozenset[str]:
        """What is not said of the nouns besides, because it would be a reason itself why something fits."""
        named = (self.verb.because, self.verb.because_not) if self.why and not self.anywhere else ()
        return frozenset(word for each in named if each for word in (*each.of_subject, *each.of_object))

    def reasons(self, denied: bool) -> tuple[Predicate, ...]:
        """What can be said, or denied, of the noun which is the reason, and not of the others as well."""
        other = self.kinds[1 - self.role]
        unlike = (other, "landmark") if self.beside else (other,)
        return reasons(self.verb, self.negated != denied, self.role, self.kinds[self.role], unlike)

    def hinders(self, denied: bool) -> bool:
        """Whether what is said, or denied, would keep somebody from something."""
        return (self.negated == self.verb.toward) != denied


@dataclass(frozen=True, eq=False)
class _Because:
    """A reason that has been said: the connective, what it says, and where the pronoun stands."""

    connective: Word
    spoken: Statement
    place: int

    @classmethod
    def told(
        cls,
        teller: Teller,
        plan: _Plan,
        connectives: tuple[Word, ...],
        named: str,
        adjective: Adjective | None = None,
    ) -> _Because:
        """Says "as it was too tired", the reason for what is done or is not done.

        Args:
            named: "it", or "the dog".
            adjective: what has been said of the noun already.
        """
        connective = saying.one_of(teller, connectives)
        place = teller.say(connective.english, named)
        denied = not plan.alike and perhaps(teller, 0.12)
        avoided = contrary(adjective) if adjective else ()
        options = [each for each in plan.reasons(denied) if each.english not in avoided]
        spoken = saying.reason(teller, plan.tense, options, denied, plan.hinders(denied))
        return cls(connective, spoken, place)

    def french(self, noun: Noun, *, repeated: bool) -> list[str]:
        """As in "car il était trop fatigué", "car le chien était trop fatigué"."""
        named = french.noun_phrase(Phrase(noun)) if repeated else [_PRONOUN_FRENCH[noun.gender]]
        return [self.connective.french, *named, *french.statement(self.spoken, noun.gender)]


def _sentence(teller: Teller) -> Pair:
    return teller.choose((_action, _description, _two_descriptions, _two_actions), (88, 6, 4, 2))(teller)


def _action(teller: Teller) -> Pair:
    """Somebody does something, or does not, mostly for a reason that lies in one of the two nouns."""
    plan = _Plan.chosen(teller)
    because = None
    front: list[str] = []
    if plan.why == "pronoun in front":
        because = _Because.told(teller, plan, FRONTED_CONNECTIVES, plan.pronoun)
    elif plan.anywhere:
        front = saying.adverbial(teller, plan.tense, 0.06)
    phrases, main = _deed(teller, plan, because)
    if plan.anywhere and not front:
        main += saying.adverbial(teller, plan.tense, 0.06)
    described: list[Description] = [(each.noun, each.adjective) for each in phrases if each.adjective]
    if not plan.why:
        return _pair(teller, plan.family.name, [*front, *main], phrases, described)

    meant, other = phrases[plan.role], phrases[1 - plan.role]
    repeated = plan.why == "noun"
    if because:
        words = [*because.french(meant.noun, repeated=False), *main]
    else:
        named = f"the {meant.noun.english}" if repeated else plan.pronoun
        because = _Because.told(teller, plan, CONNECTIVES, named, meant.adjective)
        words = [*front, *main, *because.french(meant.noun, repeated=repeated)]
    described.append((meant.noun, because.spoken.predicate))
    if repeated or plan.pronoun != "it":
        return _pair(teller, plan.family.name, words, phrases, described)
    candidate = other.place if other.noun.pronoun == "it" else None
    return _pair(teller, plan.family.name, words, phrases, described, (because.place, meant.place, candidate))


def _deed(teller: Teller, plan: _Plan, because: _Because | None) -> tuple[list[Phrase], list[str]]:
    """Says who does what to whom, and perhaps beside what; returns the nouns, and the French words.

    Args:
        because: what has been said of one of them already, and is not said again.
    """
    avoided = [plan.sizes, plan.sizes]
    if because:
        avoided[plan.role] |= contrary(because.spoken.predicate)
    subject = saying.phrase(teller, plan.kinds[SUBJECT], plan.genders[SUBJECT], avoided[SUBJECT])
    teller.say(plan.verb.spoken(plan.tense, negated=plan.negated))
    done_to = saying.phrase(
        teller, plan.kinds[OBJECT], plan.genders[OBJECT], avoided[OBJECT], subject.noun, definite=plan.negated
    )
    action = Action(plan.verb, plan.tense, plan.negated, done_to)
    words = [*french.noun_phrase(subject), *french.action(action, subject.noun.gender)]
    if not plan.beside:
        return [subject, done_to], words
    preposition = saying.one_of(teller, PREPOSITIONS, (1, 3, 1))  # often "near": "du" is hard to learn
    teller.say(preposition.english)
    landmark = saying.phrase(teller, "landmark", bare=True)
    return [subject, done_to, landmark], [*words, preposition.french, *french.noun_phrase(landmark)]


def _description(teller: Teller) -> Pair:
    """Something is so, or is not: "the road was too narrow"."""
    tense = saying.tense(teller)
    front = saying.adverbial(teller, tense, 0.1)
    phrase = saying.phrase(teller, saying.kind(teller, saying.KINDS), definite=True)
    spoken = saying.description(teller, tense, phrase)
    words = [*front, *french.noun_phrase(phrase), *french.statement(spoken, phrase.noun.gender)]
    described: list[Description] = [(phrase.noun, spoken.predicate)]
    if phrase.adjective:
        described.append((phrase.noun, phrase.adjective))
    return _pair(teller, "a description", words, [phrase], described)


def _two_descriptions(teller: Teller) -> Pair:
    """Two things are so, or are not: "the dog was tired and the road was narrow"."""
    tense = saying.tense(teller)
    one = saying.phrase(teller, saying.kind(teller, saying.KINDS), definite=True, bare=True)
    first = saying.description(teller, tense, one)
    teller.say("and")
    other = saying.phrase(
        teller, saying.kind(teller, saying.KINDS), other_than=one.noun, definite=True, bare=True
    )
    second = saying.description(teller, tense, other)
    words = [*french.noun_phrase(one), *french.statement(first, one.noun.gender), "et"]
    words += [*french.noun_phrase(other), *french.statement(second, other.noun.gender)]
    described = [(one.noun, first.predicate), (other.noun, second.predicate)]
    return _pair(teller, "two descriptions", words, [one, other], described)


def _two_actions(teller: Teller) -> Pair:
    """Somebody does one thing and another one, or does one but not another one."""
    family = teller.choose([family for family in FAMILIES if "cross" in {v.english for v in family.verbs}])
    tense = saying.tense(teller)
    phrases = [saying.phrase(teller, saying.kind(teller, family.subjects), definite=True, bare=True)]
    subject = phrases[0].noun
    words = french.noun_phrase(phrases[0])
    joint = teller.choose(CONJUNCTIONS)
    for negated in (False, joint.english == "but"):
        if len(phrases) == 2:
            teller.say(joint.english)
            words.append(joint.french)
        verb = saying.verb(teller, tuple(family.verbs))
        teller.say(verb.spoken(tense, negated=negated))
        kind = saying.kind(teller, family.objects_of(verb))
        phrases.append(saying.phrase(teller, kind, other_than=phrases[-1].noun, definite=True, bare=True))
        words += french.action(Action(verb, tense, negated, phrases[-1]), subject.gender)
    return _pair(teller, "two actions", words, phrases, [])


def _pair(
    teller: Teller,
    family: str,
    words: list[str],
    phrases: list[Phrase],
    described: list[Description],
    pronoun: tuple[int, int, int | None] | None = None,
) -> Pair:
    """What has been told, as a pair.

    Args:
        words: the French ones, before elision.
        described: what is said of which.
        pronoun: the places of "it", of what it means and of what else it could mean.
    """
    target = french.joined(words)
    it = None
    if pronoun:
        source, referent, other = pronoun
        row = next(place for place, word in enumerate(target) if word in _PRONOUN_FRENCH.values())
        it = Pronoun(source, row, referent, other)
    nouns = tuple(phrase.noun.english for phrase in phrases)
    descriptions = tuple((noun.english, predicate.english) for noun, predicate in described)
    return Pair(tuple(teller.words), target, family, it, nouns, descriptions)
