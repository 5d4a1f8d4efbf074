"""Random words said twice: how well a storyteller says them again, and which of its heads make it do so."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnviz.interventions.edit import Edits
from attnviz.trace import Floats
from attnviz.trained.storyteller.forming import PROBE, Copying, Snapshot, snapshot
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.measures import said_twice, scores_of
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller, build
from attnviz.trained.storyteller.tasks import SAID_TWICE
from attnviz.trained.storyteller.training import train
from attnviz.transformer.decoder_only import DecoderOnlySteps

TEXTS = 100
"""Of `SAID_TWICE` words, each said twice."""


def copying(storyteller: Storyteller, edits: Edits = (), texts: int = TEXTS, seed: int = 1) -> Copying:
    """Measure a storyteller, or one with these edits."""
    ids = said_twice(texts, seed)
    return copied(ids, storyteller.steps(ids, [edits] * texts if edits else ()))


def copied(ids: Int[Tensor, "text token"], steps: DecoderOnlySteps) -> Copying:
    """Measure one pass over texts of `said_twice`."""
    expected, next_words = steps.logits[:, :-1], ids[:, 1:]
    first, again = slice(SAID_TWICE), slice(SAID_TWICE + 1, 2 * SAID_TWICE)
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
    """Train, and look at the model now and then.

    Args:
        variant, seed: as in `train`.
        steps: after how many the training is broken off; it is planned for `training.STEPS`.
        at: after which steps; 0 is before the first.

    Yields:
        After each step its number or, in its place, a snapshot.
    """
    if 0 in at:
        untrained = Storyteller(build(SIZES[variant], seed), {"variant": variant})
        yield look(untrained, 0)
    for progress in islice(train(variant, seed), steps):
        yield look(progress.trained(), progress.step) if progress.step in at else progress.step


def look(storyteller: Storyteller, step: int) -> Snapshot:
    """What the model can do after so many steps; its numbers are rounded as a file of weights would."""
    storyteller.model.half().float()
    layers = storyteller.steps(torch.tensor(VOCABULARY.ids(PROBE))).layers
    weights = np.stack([layer.attention.attention.weights.numpy() for layer in layers])
    return snapshot(step, copying(storyteller), weights)
