"""The training loop, with a quadratic loss."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from attnviz.trained.training import train, train_and_evaluate


def losses(model: nn.Linear) -> Iterator[Tensor]:
    """Yield the loss ½ w² without end; its gradient is w."""
    while True:
        assert model.training
        yield (model.weight**2).sum() / 2


def linear(weight: float) -> nn.Linear:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, weight)
    return model


def test_step_follows_the_gradient_at_the_scheduled_rate() -> None:
    model = linear(8.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    found = []
    for progress in train(model, losses(model), [optimizer], steps=3, schedule=lambda step: 1 / step):
        progress.model.eval()
        found.append((progress.step, progress.loss, progress.model.weight.item()))
    # w ← w − 0.5 / step · w
    assert found == [(1, 32.0, 4.0), (2, 8.0, 3.0), (3, 4.5, pytest.approx(2.5))]


def test_large_gradient_is_clipped() -> None:
    model = linear(8.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    [_] = train(model, losses(model), [optimizer], steps=1, schedule=lambda _: 1.0, max_gradient=2.0)
    assert model.weight.item() == pytest.approx(7.0)


def test_snapshots_are_taken_at_the_given_steps() -> None:
    model = linear(8.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    training = train(model, losses(model), [optimizer], steps=3, schedule=lambda _: 1.0)
    found = train_and_evaluate(training, linear(8.0), lambda model, step: (step, model.weight.item()), (0, 2))
    assert list(found) == [(0, 8.0), 1, (2, 2.0), 3]
