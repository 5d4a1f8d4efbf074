"""The training loop of the translators and the storytellers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer

Network = TypeVar("Network", bound=nn.Module)
Result = TypeVar("Result")


@dataclass(frozen=True)
class Progress(Generic[Network]):
    """The state of a training run after a step.

    Attributes:
        step: Number of training batches so far.
        loss: Loss of the latest batch, in nats.
        model: The model in training; the next step changes it.
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
    """Train a model; yield its progress after each step.

    Args:
        losses: Yields the model's loss on each batch.
        optimizers: Optimizers of disjoint sets of parameters, with their maximum learning rates.
        steps: Number of batches.
        schedule: Returns the factor of the learning rates at a step, counted from 1.
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


def train_and_evaluate(
    training: Iterator[Progress[Network]],
    untrained: Network,
    evaluate: Callable[[Network, int], Result],
    at: Collection[int],
) -> Iterator[int | Result]:
    """Train a model, and evaluate it at some steps.

    Args:
        training: Yields the progress after each step.
        untrained: The model before the first step.
        evaluate: Evaluates the model after a number of steps, without changing it.
        at: Steps at which to evaluate; 0 is before the first step.

    Yields:
        The number of each step or, at the steps in `at`, the result of `evaluate`.
    """
    if 0 in at:
        yield evaluate(untrained, 0)
    for progress in training:
        yield evaluate(progress.model, progress.step) if progress.step in at else progress.step
