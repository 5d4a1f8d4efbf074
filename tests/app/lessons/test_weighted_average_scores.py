"""The softmax at its limits, and what has no direction."""

import pytest
import torch

from attnviz.app.lessons.weighted_average.values import cosine, softmax


def test_a_vector_of_zeros_has_no_direction() -> None:
    assert cosine(torch.zeros(1, 3), torch.ones(2, 3)).tolist() == [[0, 0]]


def test_at_zero_equally_good_matches_share() -> None:
    scores = torch.tensor([[1.0, 3, 2, 3, 3 - 1e-3]])
    assert softmax(scores, 0.0).tolist() == [[0, 0.5, 0, 0.5, 0]]
    torch.testing.assert_close(softmax(scores, 1e-5), softmax(scores, 0.0))


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), -float("inf")])
def test_there_is_no_such_temperature(temperature: float) -> None:
    with pytest.raises(ValueError, match="must be 0 or more"):
        softmax(torch.zeros(1, 2), temperature)
