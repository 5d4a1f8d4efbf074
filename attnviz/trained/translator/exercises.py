"""Exercises: sentences and their translations as numbers, many of equal length side by side."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.translator import padded, source_of, target_of
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END, PAD

NOWHERE = -1
"""The place of a word that a sentence does not have."""

PADDING = FRENCH.ids([PAD])[0]


class Exercises(NamedTuple):
    """Sentences to translate, and what would be right.

    All the English is equally long, and shorter French is filled up at its end. So no mask is needed: the
    source has no padding, and in the target no word attends to the padding after it.

    Attributes:
        source: the English words' numbers, and [END].
        target: what the decoder reads: [START], and the French words.
        following: what is right after each of them: the French words, and [END].
        it, referent, other: the places in `source` of the pronoun, of the noun that it means and of the noun
            that it could mean and does not.
        pronoun: the row of `target` after which "il" or "elle" is right.
    """

    source: Int[Tensor, "sentence source"]
    target: Int[Tensor, "sentence target"]
    following: Int[Tensor, "sentence target"]
    it: Int[Tensor, " sentence"]
    referent: Int[Tensor, " sentence"]
    other: Int[Tensor, " sentence"]
    pronoun: Int[Tensor, " sentence"]

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "Exercises":
        """The numbers of some pairs of sentences.

        Raises:
            ValueError: their English is not equally long.
        """
        source = torch.tensor([source_of(pair.source) for pair in pairs])
        target = padded([target_of(pair.target) for pair in pairs])
        following = padded([FRENCH.ids([*pair.target, END]) for pair in pairs])
        return cls(source, target, following, *torch.tensor([_places(pair) for pair in pairs]).T)

    def picked(self, rows: Int[Tensor, " picked"]) -> "Exercises":
        """Some of them, in the given order, with no more filling than they need."""
        picked = Exercises(*(tensor[rows] for tensor in self))
        longest = int((picked.following != PADDING).sum(dim=1).max())
        return picked._replace(target=picked.target[:, :longest], following=picked.following[:, :longest])


class Corpus:
    """All sentences to learn from, as numbers, sorted by length once and for all.

    Args:
        batch: how many of them are learned from at once, at most.
    """

    def __init__(self, pairs: Iterable[Pair], batch: int) -> None:
        equally_long = defaultdict(list)
        for pair in pairs:
            equally_long[len(pair.source)].append(pair)
        self._batch = batch
        self._groups = [Exercises.of(equally_long[length]) for length in sorted(equally_long)]

    def __len__(self) -> int:
        """How many batches show every sentence once: an epoch."""
        return sum(math.ceil(len(group.source) / self._batch) for group in self._groups)

    def epoch(self, seed: int) -> list[tuple[int, Int[Tensor, " picked"]]]:
        """Every sentence once, in batches, in an order that follows from the seed; `batch` makes them."""
        generator = torch.Generator().manual_seed(seed)
        batches: list[tuple[int, Tensor]] = []
        for number, group in enumerate(self._groups):
            order = torch.randperm(len(group.source), generator=generator)
            batches += [(number, rows) for rows in torch.split(order, self._batch)]
        return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]

    def batches(self, seed: int) -> Iterator[Exercises]:
        """All batches, epoch after epoch without end."""
        for epoch in count():
            yield from (self.batch(*each) for each in self.epoch(seed << 32 | epoch))

    def batch(self, group: int, rows: Int[Tensor, " picked"]) -> Exercises:
        """One entry of an epoch's list."""
        return self._groups[group].picked(rows)


def _places(pair: Pair) -> tuple[int, int, int, int]:
    pronoun = pair.pronoun
    if pronoun is None:
        return NOWHERE, NOWHERE, NOWHERE, NOWHERE
    other = NOWHERE if pronoun.other is None else pronoun.other
    return pronoun.source, pronoun.referent, other, pronoun.target
