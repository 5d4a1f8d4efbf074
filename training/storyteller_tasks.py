"""All evaluation tasks of a storyteller: trained ones, random words, and places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.tasks import ANSWERED, NUM_REPEATED, Item
from attnviz.trained.vocabulary import START

ITEMS = 300
"""Number of items of each task."""


def _copying(dice: Random) -> Item:
    """Return an item that asks for one of the repeated random words, except the first."""
    known = dice.randint(1, NUM_REPEATED - 1)
    words = grammar.words_twice(dice, NUM_REPEATED)
    return Item(words[: 1 + NUM_REPEATED + known], words[1 + known])


def _place(dice: Random, facts: int) -> Item:
    """Return an item that asks where something is, after a number of facts.

    No tested training setup learns both this and random words. Correct answers of four layers with seed 0, of
    300 items with two facts and of 300 with random words (chants are 0.4 and later 0.08 of the texts), with
    facts repeated in another order

    - instead of half of the chants: 295 and 192;
    - in a tenth of the early texts, besides the chants: 142 and 299;
    - in a quarter of the early texts, with most chants later (3,000 steps): 122 and 300.
    """
    put = grammar.put(dice, facts, held_out=True)
    people = grammar.pair(dice, "names", held_out=False)
    story = [word for fact in put for word in grammar.placing(dice.choice(people), *fact)]
    noun, container = dice.choice(put)
    return Item([START, *story, *grammar.asking(noun)], container)


TASKS: Mapping[str, Callable[[Random], Item]] = {
    **ANSWERED,
    "random words": _copying,
    "place, 2 facts": lambda dice: _place(dice, 2),
    "place, 3 facts": lambda dice: _place(dice, 3),
}
"""Tasks by name; each item has a combination that is not in the training set."""


def items(task: str, count: int = ITEMS, seed: int = 1) -> list[Item]:
    """Return random items of a task."""
    dice = Random(seed)  # noqa: S311 - stories are no secret
    return [TASKS[task](dice) for _ in range(count)]
