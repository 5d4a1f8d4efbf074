"""Evaluation tasks of a storyteller: truncated texts with held-out combinations of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.grammar import Words
from attnviz.trained.vocabulary import START

NUM_REPEATED = 20
"""Number of repeated random words in a test of copying."""

WATCHED = tuple(grammar.words_twice(Random(3), 12))  # noqa: S311 - words are no secret
"""The text that is tracked while a storyteller is trained: [CHANT], and twelve random words twice."""


class Item(NamedTuple):
    """A truncated text, and the correct next word.

    Attributes:
        words: The text so far.
        right: The correct next word.
        choices: Possible answers; empty for all words.
    """

    words: Words
    right: str
    choices: tuple[str, ...] = ()


def _gift(dice: Random, *, led_in: bool) -> Item:
    """Return an item about an indirect object (Wang et al. 2023): the receiver of a gift."""
    people = grammar.pair(dice, "names", held_out=True)
    giver, receiver = people
    before = grammar.lead_in(dice, people) if led_in else grammar.introduction(dice, people)
    return Item([START, *before, *grammar.giving(dice, giver, dice.choice(grammar.NOUNS))], receiver)


def _agreement(dice: Random) -> Item:
    """Return an item about agreement, "was" or "were"; the nearer noun has the other number."""
    many = dice.random() < 0.5
    words = grammar.beside(dice, grammar.pair(dice, "nouns", held_out=True), (many, not many))
    return Item([START, *words], "were" if many else "was", ("was", "were"))


def _pronoun(dice: Random) -> Item:
    """Return an item about a pronoun, "she" or "he"; the nearer name has the other gender."""
    while True:
        subject, other = grammar.pair(dice, "names", held_out=True)
        if grammar.pronoun(subject) != grammar.pronoun(other):
            words = [START, *grammar.hint(dice, subject, other)]
            return Item(words, grammar.pronoun(subject), ("she", "he"))


def _made_up_name(dice: Random) -> Item:
    """Return an item about a later syllable of a creature's name at its second occurrence."""
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
"""The story tasks that all bundled storytellers have learned, by name.

Each item has a held-out combination.
"""
