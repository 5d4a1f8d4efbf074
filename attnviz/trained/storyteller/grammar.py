"""The storyteller's training texts, generated randomly by a small grammar.

Some combinations of words are held out: two names, two nouns, or a noun and a container. Training
texts combine them at most by chance, among random words, so a model cannot have memorized them.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from random import Random

from attnviz.trained.vocabulary import END, START, Vocabulary

TOKEN_LIMIT = 96
"""Maximum number of tokens of a text, including [START]; no training text has more."""

CHANT = "[CHANT]"
"""First token of texts of random words, instead of [START]; it distinguishes them from stories."""

REPETITION_SHARES = 0.5, 0.25
"""Fractions of training texts that are repeated random words, in the first phase and later.

With 0.4 and 0.08, the two-layer model copied 98 % of 20 random words correctly, and the four-layer model with
seed 2 had no induction head.
"""

FIRST_PHASE = 0.4
"""Fraction of the training steps that belong to the first phase."""


def _words(listed: str) -> tuple[str, ...]:
    return tuple(listed.split())


WOMEN = _words(
    "Alice Amy Anna Clara Daisy Ella Emma Fiona Grace Hanna Helen Irene Jane Julia Kate Laura Lena Lily Lucy "
    "Maria Mary Nina Nora Olga Paula Ruth Sara Sophie Susan Vera"
)
MEN = _words(
    "Adam Albert Anton Ben Carl Daniel David Erik Felix Fred George Henry Hugo Jack James John Karim Leo "
    "Lucas Martin Max Oliver Oscar Paul Peter Robert Sam Simon Thomas Victor"
)
NOUNS = _words(
    "ball bell book brush cake chair clock coin cup drum flower hat key kite lamp letter map mirror pen "
    "picture plate ring rope shirt shoe spoon stick stone towel toy"
)
CONTAINERS = _words(
    "bag barrel basket bowl bucket cabinet can case chest crate drawer jar pocket pot sack trunk"
)
PLACES = _words(
    "beach church farm forest garden hill kitchen lake library market museum park river school shop station"
)
QUALITIES = ("big", "clean", "dirty", "heavy", "new", "old", "red", "small")
MOODS = ("angry", "cold", "happy", "hungry", "proud", "sad", "thirsty", "tired")
SYLLABLES = tuple(consonant + vowel for consonant in "bdfklmprvz" for vowel in "aiou")
PREPOSITIONS = ("near", "behind", "beside", "by")

_OTHER = _words(
    ". , : ? the a and was were who where when while after had he she it one day friends lived met at "
    "went to came from gave put in because called thanked helped visited said then creature named liked saw "
    "everyone"
)


def plural(noun: str) -> str:
    """Return the plural of a noun."""
    return f"{noun}es" if noun.endswith(("s", "x", "sh", "ch")) else f"{noun}s"


_CONTENT = (*WOMEN, *MEN, *NOUNS, *CONTAINERS, *PLACES, *QUALITIES, *MOODS, *SYLLABLES)
_PLURALS = tuple(map(plural, NOUNS))
VOCABULARY = Vocabulary((CHANT, *_OTHER, *PREPOSITIONS, *_CONTENT, *_PLURALS))

ANY_WORD = VOCABULARY.words[4:]
_INTRODUCTIONS = (
    "{one} and {two} were friends .",
    "{one} and {two} lived near the {place} .",
    "one day {one} met {two} at the {place} .",
)
_BEFORE_GIFT = (
    "when {one} and {two} went to the {place} ,",
    "while {one} and {two} were at the {place} ,",
    "after {one} and {two} came from the {place} ,",
)
_SHARES = {"names": 0.19, "nouns": 0.1, "contained": 0.1}
_MAX_PHRASE_WORDS = 8

Words = list[str]


@cache
def is_held_out(split: str, pair: tuple[str, str]) -> bool:
    """Return whether this combination of two words is held out, as determined by a hash.

    Args:
        split: "names": two people in one story; "nouns": two nouns joined by a preposition; "contained": a
            noun in a container.
        pair: The two words, in any order if both are of the same kind.
    """
    words = pair if split == "contained" else sorted(pair)
    return zlib.crc32(" ".join(("attnviz", split, *words)).encode()) / 2**32 < _SHARES[split]


def pair(rng: Random, split: str, *, held_out: bool) -> tuple[str, str]:
    """Return a random pair of different words; `held_out`: whether the pair is held out."""
    first, second = {
        "names": ((*WOMEN, *MEN), (*WOMEN, *MEN)),
        "nouns": (NOUNS, NOUNS),
        "contained": (NOUNS, CONTAINERS),
    }[split]
    while True:
        words = rng.choice(first), rng.choice(second)
        if words[0] != words[1] and is_held_out(split, words) == held_out:
            return words


def text(rng: Random, repetition_share: float) -> Words:
    """Return a training text: repeated random words with this probability, otherwise a story."""
    return repetition(rng) if rng.random() < repetition_share else story(rng)


def story(rng: Random) -> Words:
    """Return [START], an optional introduction, two to five events, and [END]."""
    while True:
        people = pair(rng, "names", held_out=False)
        introduced = rng.random() < 0.6
        words = [START, *(_two_people_sentence(rng, people, _INTRODUCTIONS) if introduced else ())]
        for _ in range(rng.randint(2, 5)):
            event = rng.choice(_EVENTS)
            words += event(rng, people if rng.random() < 0.5 else people[::-1], introduced)
            introduced = True
        if len(words) < TOKEN_LIMIT:
            return [*words, END]


def repetition(rng: Random) -> Words:
    """Return [CHANT], then different random words two or three times in a row.

    There is no [END]: predicting it too early would be the most frequent error in copying.
    """
    times = rng.randint(2, 3)
    words = rng.sample(ANY_WORD, rng.randint(4, 30 if times == 2 else 24))
    return [CHANT, *words * times]


def words_twice(rng: Random, count: int) -> Words:
    """Return a test text: [CHANT], then different random words twice in a row."""
    return [CHANT, *rng.sample(ANY_WORD, count) * 2]


TRACKED_TEXT = tuple(words_twice(Random(3), 12))  # noqa: S311 - not for security
"""The text that is tracked while a storyteller is trained: [CHANT], and twelve random words twice."""


def beginning(rng: Random) -> Words:
    """Return the beginning of a random story, without [START], to the word before a repeated content word."""
    words = story(rng)[1:-1]
    repeated = [place for place, word in enumerate(words) if word in words[:place] and word in _CONTENT]
    return words[: rng.choice(repeated or [len(words)])]


def _two_people_sentence(rng: Random, people: Sequence[str], sentences: Sequence[str]) -> Words:
    """Return one of these sentences at random, with the names of two people and a random place."""
    one, two = people
    place = rng.choice(PLACES)
    return rng.choice(sentences).format(one=one, two=two, place=place).split()


def _gift(rng: Random, people: Sequence[str], introduced: bool) -> Words:
    giver, receiver = people
    noun = rng.choice(NOUNS)
    words: Words = []
    if not introduced or rng.random() < 0.7:
        words = _two_people_sentence(rng, people if rng.random() < 0.5 else people[::-1], _BEFORE_GIFT)
    words += f"{giver} gave {rng.choice(('a', 'the'))} {noun} to {receiver} .".split()
    if rng.random() < 0.3:
        words += f"who had the {noun} ? {receiver} had the {noun} .".split()
    return words


def _reason(rng: Random, people: Sequence[str], introduced: bool) -> Words:  # noqa: ARG001 - signature of an event
    subject, other = people
    verb = rng.choice(("called", "thanked", "helped", "visited"))
    pronoun = "she" if subject in WOMEN else "he"
    return f"{subject} {verb} {other} because {pronoun} was {rng.choice(MOODS)} .".split()


def _agreement(rng: Random, people: Sequence[str], introduced: bool) -> Words:  # noqa: ARG001 - signature of an event
    plurals = rng.random() < 0.5, rng.random() < 0.5
    nouns = pair(rng, "nouns", held_out=False)
    one, two = (plural(noun) if many else noun for noun, many in zip(nouns, plurals, strict=True))
    preposition, verb = rng.choice(PREPOSITIONS), "were" if plurals[0] else "was"
    return f"the {one} {preposition} the {two} {verb} {rng.choice(QUALITIES)} .".split()


def _places(rng: Random, people: Sequence[str], introduced: bool) -> Words:  # noqa: ARG001 - signature of an event
    facts = place_nouns(rng, rng.randint(1, 3), held_out=False)
    words = placement_sentences(rng, people, facts)
    if rng.random() < 0.6:
        noun, container = rng.choice(facts)
        words += [*question_about(noun), container, "."]
    return words


def place_nouns(rng: Random, count: int, *, held_out: bool) -> list[tuple[str, str]]:
    """Return different nouns, each in a different container."""
    while True:
        facts = [pair(rng, "contained", held_out=held_out) for _ in range(count)]
        if all(len({*words}) == count for words in zip(*facts, strict=True)):
            return facts


def placement_sentences(rng: Random, people: Sequence[str], facts: Sequence[tuple[str, str]]) -> Words:
    """Return one sentence for each noun, in which a person puts the noun in its container."""
    sentences = (f"{rng.choice(people)} put the {noun} in the {container} ." for noun, container in facts)
    return " ".join(sentences).split()


def question_about(noun: str) -> Words:
    """Return a question about the place of a noun, and the answer without the container."""
    return f"where was the {noun} ? the {noun} was in the".split()


def _meeting(rng: Random, people: Sequence[str], introduced: bool) -> Words:  # noqa: ARG001 - signature of an event
    name = rng.sample(SYLLABLES, rng.randint(2, 4))
    words = ["near", "the", rng.choice(PLACES), "lived", "a", "creature", "named", *name, "."]
    for _ in range(rng.randint(1, 2)):
        words += rng.choice(
            (
                [rng.choice(people), rng.choice(("liked", "saw", "met")), *name, "."],
                [*name, "was", rng.choice(MOODS), "."],
                ["everyone", "called", "it", *name, "."],
            )
        )
    return words


def _saying(rng: Random, people: Sequence[str], introduced: bool) -> Words:  # noqa: ARG001 - signature of an event
    words = rng.sample((*_CONTENT, *_PLURALS), rng.randint(2, _MAX_PHRASE_WORDS))
    return [people[0], "said", ":", *words, ".", "then", people[1], "said", ":", *words, "."]


_EVENTS = (_gift, _gift, _reason, _reason, _agreement, _agreement, _places, _meeting, _saying)
