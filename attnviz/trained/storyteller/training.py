"""How the storyteller learns: fresh stories at every step, Muon for matrices, AdamW for the rest."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.grammar import CHANTS, FIRST_CHANTS, VOCABULARY
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller, build
from attnviz.trained.vocabulary import PAD
from attnviz.transformer.decoder_only import DecoderOnly

STEPS = 2400
BATCH = 24  # texts
MUON_RATE, ADAM_RATE = 0.02, 3e-3
MUON_DECAY, ADAM_DECAY = 0.2, 0.01
"""The weights' decay. Tried once without it (two layers, seed 0), no induction head formed."""

_PAD = VOCABULARY.ids([PAD])[0]


@dataclass(frozen=True)
class Progress:
    """Where a training stands after a step.

    Attributes:
        step: how many batches were learned from, of `steps`.
        loss: how wrong the model was about the latest one, in nats a word.
        seconds: how long the steps took.
        variant, seed: what is trained.
        model: goes on learning when the next step is asked for; `trained` is a copy that does not.
    """

    step: int
    steps: int
    loss: float
    seconds: float
    variant: str
    seed: int
    model: DecoderOnly

    def trained(self) -> Storyteller:
        """What the model has become so far, to be looked at, run and saved."""
        about = {
            "variant": self.variant,
            "seed": str(self.seed),
            "command": f"python -m attnviz train --variant {self.variant} --seed {self.seed}",
            "steps": str(self.step),
        }
        return Storyteller(self.model, about)


def train(variant: str, seed: int, steps: int = STEPS) -> Iterator[Progress]:
    """Learn, one step each time the next progress is asked for.

    The same arguments give the same weights, to the bit on one machine with one thread.

    Args:
        variant: the name of a size in `SIZES`.
        seed: of the first weights and of all texts.
    """
    model = build(SIZES[variant], seed).train()
    matrices = [parameter for parameter in model.layers.parameters() if parameter.ndim == 2]
    rest = [model.table.weight, *(p for p in model.parameters() if p.ndim == 1)]
    optimizers = (
        torch.optim.Muon(matrices, lr=MUON_RATE, weight_decay=MUON_DECAY),  # Jordan et al. 2024
        torch.optim.AdamW(rest, lr=ADAM_RATE, weight_decay=ADAM_DECAY, fused=True),
    )
    falling = [
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (1 + math.cos(math.pi * step / steps)) / 2)
        for optimizer in optimizers
    ]
    seconds = 0.0
    for step in range(steps):
        began = time.perf_counter()
        loss = _loss(model, _batch(seed, step, CHANTS[step >= FIRST_CHANTS * steps]))
        model.zero_grad()
        torch.autograd.backward(loss)
        for optimizer, schedule in zip(optimizers, falling, strict=True):
            optimizer.step()
            schedule.step()
        seconds += time.perf_counter() - began
        yield Progress(step + 1, steps, loss.item(), seconds, variant, seed, model)


def _batch(seed: int, step: int, chants: float) -> Tensor:
    """Fresh texts [text, token] for each step, filled up with [PAD] to the length of the longest."""
    dice = Random(seed << 32 | step)  # noqa: S311 - stories are no secret
    texts = [torch.tensor(VOCABULARY.ids(grammar.text(dice, chants))) for _ in range(BATCH)]
    return pad_sequence(texts, batch_first=True, padding_value=_PAD)


def _loss(model: DecoderOnly, ids: Tensor) -> Tensor:
    """−log of the probability of each next word, on average."""
    logits: Tensor = model(ids[:, :-1]).logits
    return cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=_PAD)
