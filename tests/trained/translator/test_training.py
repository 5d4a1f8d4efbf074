"""Training a translator is reproducible and depends on its settings."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from attnviz.trained.training import Progress
from attnviz.trained.translator.training import Settings, schedule, train
from attnviz.trained.translator.translator import Sizes
from attnviz.transformer.encoder_decoder import EncoderDecoder

TINY = Settings(
    steps=12, sentences=200, batch=16, warm_up=4, sizes=Sizes(d_model=12, n_heads=3, d_feed_forward=7)
)


def numbers(progress: Progress[EncoderDecoder]) -> Tensor:
    """Return all parameters as one vector."""
    return torch.cat([parameter.detach().flatten() for parameter in progress.model.parameters()]).clone()


def last(progress: Iterator[Progress[EncoderDecoder]]) -> Progress[EncoderDecoder]:
    """Return the last progress of a training run."""
    *_, end = progress
    return end


@pytest.fixture(scope="module")
def trained() -> Tensor:
    return numbers(last(train(TINY)))


def test_training_is_reproducible_despite_other_random_draws(trained: Tensor) -> None:
    steps = []
    for progress in train(TINY):
        torch.rand(progress.step)
        progress.model.eval()  # an evaluation may do this
        steps.append(progress.step)
    assert torch.equal(numbers(progress), trained)
    assert steps == list(range(1, 13))


@pytest.mark.parametrize("change", [{"seed": 1}, {"variant": "unguided"}, {"steps": 11}])
def test_other_settings_give_other_weights(trained: Tensor, change: dict[str, object]) -> None:
    other = numbers(last(train(replace(TINY, **change))))  # type: ignore[arg-type]  # fields of any type
    assert not torch.equal(other, trained)


def test_learning_rate_rises_and_then_falls() -> None:
    settings = replace(TINY, steps=10, warm_up=4)
    rates = [8 * schedule(settings, step) for step in range(1, 11)]
    assert rates == pytest.approx([2, 4, 6, 8, 48 / 7, 40 / 7, 32 / 7, 24 / 7, 16 / 7, 8 / 7])
