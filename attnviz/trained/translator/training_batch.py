"""Training batches: ids of sentences of equal length and of their translations."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.translator import encode_source, encode_target, padded
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END, PAD

MISSING = -1
"""The position of a missing word."""

PADDING = FRENCH.ids([PAD])[0]


class TrainingBatch(NamedTuple):
    """A batch of sentences with their translations.

    All sources have the same length, and targets are padded at the end, so no padding mask is needed: the
    source has no padding, and with a causal mask no target word attends to the padding after it.

    Attributes:
        source: Ids of the English words and [END].
        target: Input of the decoder: ids of [START] and the French words.
        labels: Expected output: ids of the French words and [END].
        it, referent, other: Positions in `source` of the pronoun, its referent and the other candidate.
        pronoun: Position in `target` at which "il" or "elle" is predicted.
    """

    source: Int[Tensor, "sentence source"]
    target: Int[Tensor, "sentence target"]
    labels: Int[Tensor, "sentence target"]
    it: Int[Tensor, " sentence"]
    referent: Int[Tensor, " sentence"]
    other: Int[Tensor, " sentence"]
    pronoun: Int[Tensor, " sentence"]

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "TrainingBatch":
        """Return the batch of these sentences.

        Raises:
            ValueError: the sources have different lengths.
        """
        source = torch.tensor([encode_source(pair.source) for pair in pairs])
        target = padded([encode_target(pair.target) for pair in pairs])
        labels = padded([FRENCH.ids([*pair.target, END]) for pair in pairs])
        return cls(source, target, labels, *torch.tensor([_places(pair) for pair in pairs]).T)

    def select(self, rows: Int[Tensor, " selected"]) -> "TrainingBatch":
        """Select rows in the given order, and remove unnecessary padding."""
        selected = TrainingBatch(*(tensor[rows] for tensor in self))
        longest = int((selected.labels != PADDING).sum(dim=1).max())
        return selected._replace(target=selected.target[:, :longest], labels=selected.labels[:, :longest])


class Corpus:
    """All training sentences as ids, grouped by length.

    Args:
        pairs: The sentences.
        batch: Maximum batch size.
    """

    def __init__(self, pairs: Iterable[Pair], batch: int) -> None:
        by_length = defaultdict(list)
        for pair in pairs:
            by_length[len(pair.source)].append(pair)
        self._batch = batch
        self._groups = [TrainingBatch.of(by_length[length]) for length in sorted(by_length)]

    def epoch(self, seed: int) -> list[tuple[int, Int[Tensor, " selected"]]]:
        """Return the batches of an epoch as arguments of `batch`, shuffled with this seed."""
        generator = torch.Generator().manual_seed(seed)
        batches: list[tuple[int, Tensor]] = []
        for number, group in enumerate(self._groups):
            order = torch.randperm(len(group.source), generator=generator)
            batches += [(number, rows) for rows in torch.split(order, self._batch)]
        return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]

    def batches(self, seed: int) -> Iterator[TrainingBatch]:
        """Yield batches indefinitely, epoch after epoch."""
        for epoch in count():
            yield from (self.batch(*each) for each in self.epoch(seed << 32 | epoch))

    def batch(self, group: int, rows: Int[Tensor, " selected"]) -> TrainingBatch:
        """Return the batch for an entry of `epoch`."""
        return self._groups[group].select(rows)


def _places(pair: Pair) -> tuple[int, int, int, int]:
    pronoun = pair.pronoun
    if pronoun is None:
        return MISSING, MISSING, MISSING, MISSING
    other = MISSING if pronoun.other is None else pronoun.other
    return pronoun.source, pronoun.referent, other, pronoun.target
