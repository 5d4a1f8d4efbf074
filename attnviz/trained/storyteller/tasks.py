"""What a storyteller is asked: texts that break off, each with a combination of words that no story has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.grammar import Words
from attnviz.trained.vocabulary import START

ITEMS = 300
"""Of each task: one of them is a third of a percent."""

SAID_TWICE = 20
"""Random words that are said twice, to see who copies."""

WATCHED = tuple(grammar.said_twice(Random(3), 12))  # noqa: S311 - words are no secret
"""The text on which a storyteller in training is watched: [CHANT], and twelve random words twice."""


class Item(NamedTuple):
    """A text that breaks off, and the word that is right there.

    Attributes:
        words: the text so far.
        right: the word that follows.
        choices: the words among which the likeliest is asked for; none: all words.
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


def _copying(dice: Random) -> Item:
    """Any of the random words but the first, when they are said again."""
    known = dice.randint(1, SAID_TWICE - 1)
    words = grammar.said_twice(dice, SAID_TWICE)
    return Item(words[: 1 + SAID_TWICE + known], words[1 + known])


def _place(dice: Random, facts: int) -> Item:
    """Where something is, after so many facts.

    No training that was tried learns this and random words, too. Of 300 items each, after two facts and in
    random words, four layers with seed 0 got right (when chants were 0.4 and later 0.08 of the texts), with
    facts that are said again in another order

    - in place of half of the chants: 295 and 192;
    - in a tenth of the texts at first, besides the chants: 142 and 299;
    - in a quarter of the texts at first, and most chants later (3,000 steps): 122 and 300.
    """
    put = grammar.put(dice, facts, held_out=True)
    people = grammar.pair(dice, "names", held_out=False)
    told = [word for fact in put for word in grammar.placing(dice.choice(people), *fact)]
    noun, container = dice.choice(put)
    return Item([START, *told, *grammar.asking(noun)], container)


TASKS: Mapping[str, Callable[[Random], Item]] = {
    "indirect object": lambda dice: _gift(dice, led_in=False),
    "indirect object, lead-in": lambda dice: _gift(dice, led_in=True),
    "agreement": _agreement,
    "pronoun": _pronoun,
    "made-up name": _made_up_name,
    "random words": _copying,
    "place, 2 facts": lambda dice: _place(dice, 2),
    "place, 3 facts": lambda dice: _place(dice, 3),
}
"""What is asked, by name; each item has a combination that no story to learn from has."""

ANSWERED = ("indirect object", "indirect object, lead-in", "agreement", "pronoun", "made-up name")
"""The tasks about stories that every storyteller that is shipped has learned."""


def items(task: str, count: int = ITEMS, seed: int = 1) -> list[Item]:
    """So many items of a task."""
    dice = Random(seed)  # noqa: S311 - stories are no secret
    return [TASKS[task](dice) for _ in range(count)]
