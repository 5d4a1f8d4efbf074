"""Measures: what a storyteller can do with what it never learned from, and which heads copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attnviz.interventions.edit import Edit, Edits
from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.grammar import VOCABULARY, Words
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.vocabulary import PAD, START

ITEMS = 300
"""Of each task: one of them is a third of a percent."""

SAID_TWICE = 20
"""Random words that are said twice, to see who copies."""


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
    """Where something is, after so many facts."""
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


def items(task: str, count: int = ITEMS, seed: int = 1) -> list[Item]:
    """So many items of a task."""
    dice = Random(seed)  # noqa: S311 - stories are no secret
    return [TASKS[task](dice) for _ in range(count)]


def right(storyteller: Storyteller, asked: Sequence[Item], edits: Edits = ()) -> int:
    """How many items are answered right: the right word is the likeliest, of its choices or of all.

    Args:
        edits: the same for each item.
    """
    ids = [torch.tensor(VOCABULARY.ids(item.words)) for item in asked]
    padded = pad_sequence(ids, batch_first=True, padding_value=VOCABULARY.ids([PAD])[0])
    logits = storyteller.steps(padded, [edits] * len(asked) if edits else ()).logits
    said = 0
    for item, of_text, read in zip(asked, logits, ids, strict=True):
        choices = VOCABULARY.ids(item.choices or VOCABULARY.words)
        likeliest = choices[int(of_text[len(read) - 1, choices].argmax())]
        said += VOCABULARY.word(likeliest) == item.right
    return said


class HeadScores(NamedTuple):
    """Where heads look in random words that are said twice, on average over the second time.

    Attributes:
        previous_word: the weight of the word before.
        prefix_matching: the weight of the word that followed when this one was said first (Olsson et al.
            2022): an induction head has much of it.
    """

    previous_word: Float[Tensor, "layer head"]
    prefix_matching: Float[Tensor, "layer head"]


def head_scores(storyteller: Storyteller, edits: Edits = (), texts: int = ITEMS, seed: int = 1) -> HeadScores:
    """The scores of all heads, or of those of a model with these edits."""
    dice = Random(seed)  # noqa: S311 - words are no secret
    ids = torch.tensor([VOCABULARY.ids(grammar.said_twice(dice, SAID_TWICE)) for _ in range(texts)])
    steps = storyteller.steps(ids, [edits] * texts if edits else ())
    weights = torch.stack([layer.attention.attention.weights for layer in steps.layers]).mean(dim=1)
    again = torch.arange(1 + SAID_TWICE, 1 + 2 * SAID_TWICE)
    return HeadScores(
        weights[..., again, again - 1].mean(dim=-1),
        weights[..., again, again - SAID_TWICE + 1].mean(dim=-1),
    )


@dataclass(frozen=True)
class Figures:
    """All that is measured of one storyteller.

    Attributes:
        items: how many of each task.
        right: how many of them are answered right, by task.
        previous_word, prefix_matching: the scores of each layer's heads.
        silenced: the head with the largest previous-word score, layer and head from 1.
        silenced_right: how many items of "random words" are right with that head silenced.
        silenced_prefix_matching: the largest prefix-matching score that is left then.
    """

    items: int
    right: Mapping[str, int]
    previous_word: list[list[float]]
    prefix_matching: list[list[float]]
    silenced: tuple[int, int]
    silenced_right: int
    silenced_prefix_matching: float


def measure(storyteller: Storyteller) -> Figures:
    """All figures of a storyteller."""
    scores = head_scores(storyteller)
    layer, head = divmod(int(scores.previous_word.argmax()), storyteller.size.n_heads)
    silenced = (Edit("decoder", layer, head),)
    return Figures(
        ITEMS,
        {task: right(storyteller, items(task)) for task in TASKS},
        _rounded(scores.previous_word),
        _rounded(scores.prefix_matching),
        (layer + 1, head + 1),
        right(storyteller, items("random words"), silenced),
        round(float(head_scores(storyteller, silenced).prefix_matching.max()), 4),
    )


def _rounded(scores: Tensor) -> list[list[float]]:
    return [[round(score, 4) for score in layer] for layer in scores.tolist()]
