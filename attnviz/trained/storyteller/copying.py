"""Repeated random words: a storyteller's accuracy in copying them, and scores of its induction heads."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnviz.interventions.edit import Edits
from attnviz.trace import Floats
from attnviz.trained.snapshots import Snapshot, TextSnapshot, thousandths
from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.figures import Copying
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller, build
from attnviz.trained.storyteller.tasks import NUM_REPEATED, WATCHED
from attnviz.trained.storyteller.training import train
from attnviz.trained.training import watched
from attnviz.transformer.decoder_only import DecoderOnly, DecoderOnlySteps

TEXTS = 100
"""Number of test texts of `NUM_REPEATED` words, each twice."""


class HeadScores(NamedTuple):
    """Mean attention weights in repeated random words, over their second occurrence.

    Attributes:
        previous_word: Weight of the previous word.
        prefix_matching: Weight of the word that followed this one at its first occurrence (Olsson et al.
            2022); high for induction heads.
    """

    previous_word: Float[Tensor, "layer head"]
    prefix_matching: Float[Tensor, "layer head"]


def words_twice(texts: int, seed: int = 1) -> Int[Tensor, "text token"]:
    """Return texts of `NUM_REPEATED` random words, each twice."""
    dice = Random(seed)  # noqa: S311 - words are no secret
    return torch.tensor([VOCABULARY.ids(grammar.words_twice(dice, NUM_REPEATED)) for _ in range(texts)])


def scores_of(steps: DecoderOnlySteps) -> HeadScores:
    """Return the scores of all heads in one pass over such texts."""
    weights = torch.stack([layer.attention.attention.weights for layer in steps.layers]).mean(dim=1)
    again = torch.arange(1 + NUM_REPEATED, 1 + 2 * NUM_REPEATED)
    return HeadScores(
        weights[..., again, again - 1].mean(dim=-1),
        weights[..., again, again - NUM_REPEATED + 1].mean(dim=-1),
    )


def copying(storyteller: Storyteller, edits: Edits = (), texts: int = TEXTS, seed: int = 1) -> Copying:
    """Evaluate a storyteller, optionally with edits."""
    ids = words_twice(texts, seed)
    return copied(ids, storyteller.steps(ids, [edits] * texts if edits else ()))


def copied(ids: Int[Tensor, "text token"], steps: DecoderOnlySteps) -> Copying:
    """Evaluate one pass over texts of `words_twice`."""
    expected, next_words = steps.logits[:, :-1], ids[:, 1:]
    first, again = slice(NUM_REPEATED), slice(NUM_REPEATED + 1, 2 * NUM_REPEATED)
    scores = scores_of(steps)
    return Copying(
        _read_only(scores.previous_word),
        _read_only(scores.prefix_matching),
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
    scores = {
        "previous_word": measured.previous_word.round(4),
        "prefix_matching": measured.prefix_matching.round(4),
    }
    measures = {
        "right": round(measured.right, 4),
        "first_loss": round(measured.first_loss, 4),
        "second_loss": round(measured.second_loss, 4),
    }
    return Snapshot(step, measures, (TextSnapshot({"decoder": thousandths(weights)}),), scores)
