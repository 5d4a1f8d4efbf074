"""What a storyteller is asked: texts that break off, each with a combination of words that no story has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.grammar import Words
from attnviz.trained.vocabulary import START

NUM_REPEATED = 20
"""Repeated random words, to see which model copies."""

WATCHED = tuple(grammar.words_twice(Random(3), 12))  # noqa: S311 - words are no secret
"""The text on which a storyteller in training is watched: [CHANT], and twelve random words twice."""


class Item(NamedTuple):
    """A text that breaks off, and the word that is right there.

    Attributes:
        words: the text so far.
        right: the word that follows.
        choices: the words among which the likeliest counts; none: all words.
    """

    words: Words
    right: str
    choices: tuple[str, ...] = ()


def _gift(dice: Random, *, led_in: bool) -> Item:
    """Indirect objects (Wang et al. 2023): who is given something."""
    people = grammar.pair(dice, "names", held_out=True)
    giver, receiver = people
    before = grammar.lead_in(dice, people) if led_in else grammar.introduction(dice, people)
    return Item([START, *before, *grammar.giving(dice, giver, dice.choice(grammar.NOUNS))], receiver)


def _agreement(dice: Random) -> Item:
    """Whether it was or were, where the nearer noun is of the other number."""
    many = dice.random() < 0.5
    words = grammar.beside(dice, grammar.pair(dice, "nouns", held_out=True), (many, not many))
    return Item([START, *words], "were" if many else "was", ("was", "were"))


def _pronoun(dice: Random) -> Item:
    """Whether she or he is meant, where the nearer name is of the other gender."""
    while True:
        subject, other = grammar.pair(dice, "names", held_out=True)
        if grammar.pronoun(subject) != grammar.pronoun(other):
            words = [START, *grammar.hint(dice, subject, other)]
            return Item(words, grammar.pronoun(subject), ("she", "he"))


def _made_up_name(dice: Random) -> Item:
    """A later syllable of a creature's name, when it is named again."""
    name = grammar.creature(dice)
    known = dice.randint(1, len(name) - 1)
    words = [START, *grammar.meeting(dice, name), "everyone", "called", "it", *name[:known]]
    return Item(words, name[known])


ANSWERED: Mapping[str, Callable[[Random], Item]] = {
    "indirect object": lambda dice: _gift(dice, led_in=False),
    "indirect object, lead-in": lambda dice: _gift(dice, led_in=True),
    "agreement": _agreement,
    "pronoun": _pronoun,
    "made-up name": _made_up_name,
}
"""The tasks about stories that every shipped storyteller has learned, by name.

Each item has a combination that no story to learn from has.
"""
