"""Train the storyteller on new texts at every step, with Muon (for matrices) and AdamW."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from attnviz.trained import training
from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.grammar import FIRST_PHASE, REPETITION_SHARES, VOCABULARY
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import build
from attnviz.trained.training import Progress
from attnviz.trained.vocabulary import PAD
from attnviz.transformer.decoder_only import DecoderOnly

STEPS = 2400
BATCH = 24  # texts per step
MUON_RATE, ADAM_RATE = 0.02, 3e-3
MUON_DECAY, ADAM_DECAY = 0.2, 0.01
"""Weight decay. Without it, a two-layer model with seed 0 had no induction head."""

_PAD = VOCABULARY.ids([PAD])[0]


def train(variant: str, seed: int, steps: int = STEPS) -> Iterator[Progress[DecoderOnly]]:
    """Train a storyteller; yield its progress after each step.

    The weights are reproducible bit for bit on one machine with one thread.

    Args:
        variant: Name of a size in `SIZES`.
        seed: Seed of the initial weights and of all texts.
        steps: Number of steps, over which the learning rates decrease almost to 0.
    """
    model = build(SIZES[variant], seed)
    matrices = [parameter for parameter in model.layers.parameters() if parameter.ndim == 2]
    rest = [model.table.weight, *(p for p in model.parameters() if p.ndim == 1)]
    optimizers = (
        torch.optim.Muon(matrices, lr=MUON_RATE, weight_decay=MUON_DECAY),  # Jordan et al. 2024
        torch.optim.AdamW(rest, lr=ADAM_RATE, weight_decay=ADAM_DECAY, fused=True),
    )
    batches = (_batch(seed, step, REPETITION_SHARES[step >= FIRST_PHASE * steps]) for step in range(steps))
    return training.train(
        model,
        (_loss(model, batch) for batch in batches),
        optimizers,
        steps=steps,
        schedule=lambda step: (1 + math.cos(math.pi * (step - 1) / steps)) / 2,
    )


def _batch(seed: int, step: int, repetition_share: float) -> Tensor:
    """Return the padded texts of a step, [text, token]."""
    rng = Random(seed << 32 | step)  # noqa: S311 - not for security
    texts = [torch.tensor(VOCABULARY.ids(grammar.text(rng, repetition_share))) for _ in range(BATCH)]
    return pad_sequence(texts, batch_first=True, padding_value=_PAD)


def _loss(model: DecoderOnly, ids: Tensor) -> Tensor:
    """Return the mean negative log probability of the next word."""
    logits: Tensor = model(ids[:, :-1]).logits
    return cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=_PAD)
