"""The training loop of all our small models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer

Network = TypeVar("Network", bound=nn.Module)
Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Progress(Generic[Network]):
    """The state of a training after a step.

    Attributes:
        step: how many batches were learned from.
        loss: of the latest batch, in nats.
        model: the model in training, which the next step changes.
    """

    step: int
    loss: float
    model: Network


def train(
    model: Network,
    losses: Iterator[Tensor],
    optimizers: Sequence[Optimizer],
    *,
    steps: int,
    schedule: Callable[[int], float],
    max_gradient: float | None = None,
) -> Iterator[Progress[Network]]:
    """Train a model, one step each time the next progress is requested.

    Args:
        losses: computes the loss of the model on the next batch.
        optimizers: of disjoint parameters, each with its largest learning rate.
        steps: how many batches to learn from.
        schedule: returns the factor of the learning rates at a step, counted from 1.
        max_gradient: longer gradients are scaled to this L2 norm.
    """
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    rates = [group["lr"] for group in groups]
    for step in range(1, steps + 1):
        model.train()
        loss = next(losses)
        for group, rate in zip(groups, rates, strict=True):
            group["lr"] = rate * schedule(step)
        model.zero_grad()
        torch.autograd.backward(loss)
        if max_gradient is not None:
            clip_grad_norm_(model.parameters(), max_gradient)
        for optimizer in optimizers:
            optimizer.step()
        yield Progress(step, loss.item(), model)


def watched(
    training: Iterator[Progress[Network]],
    untrained: Network,
    look: Callable[[Network, int], Seen],
    at: Collection[int],
) -> Iterator[int | Seen]:
    """Run a training and examine the model now and then.

    Args:
        untrained: the model before its first step.
        look: examines the model after a number of steps, without changing it.
        at: after which steps; 0 is before the first.

    Yields:
        After each step its number or, at the steps in `at`, the result of `look`.
    """
    if 0 in at:
        yield look(untrained, 0)
    for progress in training:
        yield look(progress.model, progress.step) if progress.step in at else progress.step
