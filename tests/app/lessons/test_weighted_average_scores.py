"""Limits of the softmax, and the cosine of a zero vector."""

import pytest
import torch

from attnviz.app.lessons.weighted_average.values import cosine, softmax


def test_cosine_with_a_zero_vector_is_zero() -> None:
    assert cosine(torch.zeros(1, 3), torch.ones(2, 3)).tolist() == [[0, 0]]


def test_temperature_zero_splits_the_weight_between_maxima() -> None:
    scores = torch.tensor([[1.0, 3, 2, 3, 3 - 1e-3]])
    assert softmax(scores, 0.0).tolist() == [[0, 0.5, 0, 0.5, 0]]
    torch.testing.assert_close(softmax(scores, 1e-5), softmax(scores, 0.0))


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), -float("inf")])
def test_invalid_temperature_is_refused(temperature: float) -> None:
    with pytest.raises(ValueError, match="must be 0 or more"):
        softmax(torch.zeros(1, 2), temperature)
