"""Repeated random words: a storyteller's accuracy in copying them, and scores of its induction heads."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnviz.interventions.edit import Edits
from attnviz.trace import Floats
from attnviz.trained.snapshots import Snapshot, TextSnapshot, thousandths
from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.grammar import VOCABULARY, WATCHED
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller, build
from attnviz.trained.storyteller.training import train
from attnviz.trained.training import watched
from attnviz.transformer.decoder_only import DecoderOnly, DecoderOnlySteps

TEXTS = 100
"""Number of test texts."""

NUM_REPEATED = 20
"""Number of words of a test text, each of which occurs twice."""

ROLE = 0.4
"""Minimum score, 0 to 1, of a head with a role."""

Heads = tuple[tuple[int, int], ...]


class Copying(NamedTuple):
    """Mean results of a storyteller on repeated random words; weights are those of the second occurrence.

    Attributes:
        previous_word: [layer, head], the weight of the previous word.
        prefix_matching: [layer, head], the weight of the word that followed this one at its first occurrence
            (Olsson et al. 2022); high for induction heads.
        right: Accuracy on the repeated words, without the first of them, which is not predictable.
        first_loss: Mean −ln of the correct word's probability at the first occurrence.
        second_loss: The same at the second occurrence, without the first word.
    """

    previous_word: Floats
    prefix_matching: Floats
    right: float
    first_loss: float
    second_loss: float

    @property
    def previous_word_heads(self) -> Heads:
        """Previous-word heads, highest score first; layer and head from 0."""
        return _with_role(self.previous_word)

    @property
    def induction_heads(self) -> Heads:
        """Induction heads, highest score first; layer and head from 0."""
        return _with_role(self.prefix_matching)


def _with_role(scores: Floats) -> Heads:
    heads = ((layer, head) for layer, head in np.ndindex(scores.shape) if scores[layer, head] >= ROLE)
    return tuple(sorted(heads, key=lambda head: -scores[head]))


def words_twice(texts: int) -> Int[Tensor, "text token"]:
    """Return texts of `NUM_REPEATED` random words, each twice."""
    dice = Random(1)  # noqa: S311 - words are no secret
    return torch.tensor([VOCABULARY.ids(grammar.words_twice(dice, NUM_REPEATED)) for _ in range(texts)])


def copying(storyteller: Storyteller, edits: Edits = (), texts: int = TEXTS) -> Copying:
    """Evaluate a storyteller, optionally with edits."""
    ids = words_twice(texts)
    return copied(ids, storyteller.steps(ids, [edits] * texts if edits else ()))


def copied(ids: Int[Tensor, "text token"], steps: DecoderOnlySteps) -> Copying:
    """Evaluate one pass over texts of `words_twice`."""
    weights = torch.stack([layer.attention.attention.weights for layer in steps.layers]).mean(dim=1)
    query = torch.arange(1 + NUM_REPEATED, 1 + 2 * NUM_REPEATED)
    previous_word = weights[..., query, query - 1].mean(dim=-1)
    prefix_matching = weights[..., query, query - NUM_REPEATED + 1].mean(dim=-1)
    expected, next_words = steps.logits[:, :-1], ids[:, 1:]
    first, again = slice(NUM_REPEATED), slice(NUM_REPEATED + 1, 2 * NUM_REPEATED)
    return Copying(
        _read_only(previous_word),
        _read_only(prefix_matching),
        float((expected[:, again].argmax(dim=-1) == next_words[:, again]).float().mean()),
        _loss(expected[:, first], next_words[:, first]),
        _loss(expected[:, again], next_words[:, again]),
    )


def _read_only(scores: Tensor) -> Floats:
    found: Floats = scores.numpy()
    found.setflags(write=False)
    return found


def _loss(logits: Tensor, ids: Tensor) -> float:
    return float(cross_entropy(logits.flatten(0, 1), ids.flatten()))


def watch(variant: str, seed: int, steps: int, at: Collection[int]) -> Iterator[int | Snapshot]:
    """Train, and evaluate the model at some steps; see `training.watched`.

    Args:
        variant, seed: as in `train`.
        steps: Number of steps; the learning rate schedule is always for `training.STEPS`.
        at: Steps at which to evaluate.
    """

    def examined(model: DecoderOnly, step: int) -> Snapshot:
        return look(Storyteller(model, {"variant": variant}), step)

    return watched(islice(train(variant, seed), steps), build(SIZES[variant], seed), examined, at)


def look(storyteller: Storyteller, step: int) -> Snapshot:
    """Evaluate a storyteller.

    Args:
        storyteller: The storyteller, whose weights are rounded to float16 as in a file.
        step: Number of training steps so far.
    """
    storyteller.model.half().float()
    layers = storyteller.steps(torch.tensor(VOCABULARY.ids(WATCHED))).layers
    weights = np.stack([layer.attention.attention.weights.numpy() for layer in layers])
    measured = copying(storyteller)
    scores = {name: getattr(measured, name).round(4) for name in ("previous_word", "prefix_matching")}
    measures = {name: round(getattr(measured, name), 4) for name in ("right", "first_loss", "second_loss")}
    return Snapshot(step, measures, (TextSnapshot({"decoder": thousandths(weights)}),), scores)
