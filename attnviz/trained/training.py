"""The training loop of all bundled models."""

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
    """The state of a training run after a step.

    Attributes:
        step: Number of training batches so far.
        loss: Loss of the latest batch, in nats.
        model: The model in training, which the next step changes.
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
        losses: Computes the model's loss on the next batch.
        optimizers: Optimizers of disjoint parameters, with their maximum learning rates.
        steps: Number of batches.
        schedule: Returns the factor of the learning rates at a step, from 1.
        max_gradient: Maximum L2 norm of the gradient; None for no clipping.
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
    """Run a training and evaluate the model at some steps.

    Args:
        untrained: The model before the first step.
        look: Evaluates the model after a number of steps, without changing it.
        at: Steps at which to evaluate; 0 is before the first.

    Yields:
        The number of each step or, at the steps in `at`, the result of `look`.
    """
    if 0 in at:
        yield look(untrained, 0)
    for progress in training:
        yield look(progress.model, progress.step) if progress.step in at else progress.step
