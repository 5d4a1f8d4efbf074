"""Evaluation on repeated random words: accuracy of copying them, and scores of induction heads."""

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
from attnviz.trained.storyteller.grammar import TRACKED_TEXT, VOCABULARY
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller, build
from attnviz.trained.storyteller.training import train
from attnviz.trained.training import train_and_evaluate
from attnviz.transformer.decoder_only import DecoderOnly, DecoderOnlySteps

TEXTS = 100
"""Number of test texts."""

NUM_REPEATED = 20
"""Number of different words in a test text; each occurs twice."""

MIN_SCORE = 0.4
"""Minimum score, 0 to 1, of a previous-word head or an induction head."""

Heads = tuple[tuple[int, int], ...]


class Copying(NamedTuple):
    """Mean results of a storyteller on texts of random words that occur twice.

    Attributes:
        previous_word: [layer, head], the weight from a second occurrence to the word before it.
        prefix_matching: [layer, head], the weight from a second occurrence to the word after the first
            occurrence (Olsson et al. 2022); high for induction heads.
        right: Accuracy on the second occurrences, except for the first word, which is not predictable.
        first_loss: Mean cross-entropy loss, in nats, on the first occurrences.
        second_loss: Mean cross-entropy loss, in nats, on the second occurrences, without the first word.
    """

    previous_word: Floats
    prefix_matching: Floats
    right: float
    first_loss: float
    second_loss: float

    @property
    def previous_word_heads(self) -> Heads:
        """Previous-word heads, highest score first; layer and head from 0."""
        return _heads_above(self.previous_word)

    @property
    def induction_heads(self) -> Heads:
        """Induction heads, highest score first; layer and head from 0."""
        return _heads_above(self.prefix_matching)


def _heads_above(scores: Floats) -> Heads:
    heads = ((layer, head) for layer, head in np.ndindex(scores.shape) if scores[layer, head] >= MIN_SCORE)
    return tuple(sorted(heads, key=lambda head: -scores[head]))


def words_twice(texts: int) -> Int[Tensor, "text token"]:
    """Return the ids of random texts: `NUM_REPEATED` words, and then the same words again."""
    rng = Random(1)  # noqa: S311 - not for security
    return torch.tensor([VOCABULARY.ids(grammar.words_twice(rng, NUM_REPEATED)) for _ in range(texts)])


def copying(storyteller: Storyteller, edits: Edits = (), texts: int = TEXTS) -> Copying:
    """Evaluate a storyteller on `words_twice`, optionally with edits."""
    ids = words_twice(texts)
    return measure_pass(ids, storyteller.steps(ids, [edits] * texts if edits else ()))


def measure_pass(ids: Int[Tensor, "text token"], steps: DecoderOnlySteps) -> Copying:
    """Evaluate one forward pass over texts from `words_twice`."""
    weights = torch.stack([layer.attention.attention.weights for layer in steps.layers]).mean(dim=1)
    query = torch.arange(1 + NUM_REPEATED, 1 + 2 * NUM_REPEATED)
    previous_word = weights[..., query, query - 1].mean(dim=-1)
    prefix_matching = weights[..., query, query - NUM_REPEATED + 1].mean(dim=-1)
    expected, next_words = steps.logits[:, :-1], ids[:, 1:]
    first, second = slice(NUM_REPEATED), slice(NUM_REPEATED + 1, 2 * NUM_REPEATED)
    return Copying(
        _read_only(previous_word),
        _read_only(prefix_matching),
        float((expected[:, second].argmax(dim=-1) == next_words[:, second]).float().mean()),
        _loss(expected[:, first], next_words[:, first]),
        _loss(expected[:, second], next_words[:, second]),
    )


def _read_only(scores: Tensor) -> Floats:
    found: Floats = scores.numpy()
    found.setflags(write=False)
    return found


def _loss(logits: Tensor, ids: Tensor) -> float:
    return float(cross_entropy(logits.flatten(0, 1), ids.flatten()))


def train_with_snapshots(
    variant: str, seed: int, steps: int, at: Collection[int]
) -> Iterator[int | Snapshot]:
    """Train a storyteller and take snapshots at some steps; see `training.train_and_evaluate`.

    Args:
        variant, seed: as in `train`.
        steps: Number of steps; the learning rate schedule always spans `training.STEPS` steps.
        at: Steps at which to take a snapshot.
    """

    def evaluate(model: DecoderOnly, step: int) -> Snapshot:
        return snapshot(Storyteller(model, {"variant": variant}), step)

    return train_and_evaluate(islice(train(variant, seed), steps), build(SIZES[variant], seed), evaluate, at)


def snapshot(storyteller: Storyteller, step: int) -> Snapshot:
    """Evaluate a storyteller.

    Args:
        storyteller: Its weights are rounded in place to float16, the precision of the stored weights.
        step: Number of training steps so far.
    """
    storyteller.model.half().float()
    layers = storyteller.steps(torch.tensor(VOCABULARY.ids(TRACKED_TEXT))).layers
    weights = np.stack([layer.attention.attention.weights.numpy() for layer in layers])
    results = copying(storyteller)
    scores = {name: getattr(results, name).round(4) for name in ("previous_word", "prefix_matching")}
    measures = {name: round(getattr(results, name), 4) for name in ("right", "first_loss", "second_loss")}
    return Snapshot(step, measures, (TextSnapshot({"decoder": thousandths(weights)}),), scores)
