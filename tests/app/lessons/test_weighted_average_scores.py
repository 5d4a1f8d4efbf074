"""Scores against their formulas, the softmax and its limits, and what identical words are certain of."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from attnviz.app.lessons.weighted_average.values import (
    attention_without_parameters,
    cosine,
    dot_product,
    softmax,
)

INFINITE = float("inf")

seeds = st.integers(0, 2**31)
sizes = st.integers(1, 13)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_a_vector_of_zeros_has_no_direction() -> None:
    assert cosine(torch.zeros(1, 3), random(2, 3)).tolist() == [[0, 0]]


# The softmax


@given(seed=seeds, tokens=sizes)
def test_a_low_temperature_is_a_hard_lookup(seed: int, tokens: int) -> None:
    scores = random(3, tokens, seed=seed)
    two = scores.topk(min(2, tokens), dim=-1).values
    assume(tokens == 1 or (two[:, 0] - two[:, 1]).min() > 0.01)
    one_hot = torch.nn.functional.one_hot(scores.argmax(dim=-1), tokens).float()
    torch.testing.assert_close(softmax(scores, 1e-4), one_hot, atol=1e-6, rtol=0)
    assert torch.equal(softmax(scores, 0.0), one_hot)


@given(seed=seeds, tokens=sizes)
def test_a_high_temperature_is_the_plain_mean(seed: int, tokens: int) -> None:
    x = random(tokens, 7, seed=seed)
    even = torch.full((tokens, tokens), 1 / tokens)
    torch.testing.assert_close(softmax(dot_product(x, x), 1e6), even, atol=1e-4, rtol=0)
    steps = attention_without_parameters(x, dot_product, INFINITE)
    torch.testing.assert_close(steps.weights, even)
    torch.testing.assert_close(steps.output, x.mean(dim=0).expand(tokens, 7), atol=1e-6, rtol=0)


def test_at_zero_equally_good_matches_share() -> None:
    scores = torch.tensor([[1.0, 3, 2, 3, 3 - 1e-3]])
    assert softmax(scores, 0.0).tolist() == [[0, 0.5, 0, 0.5, 0]]


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), -INFINITE])
def test_there_is_no_such_temperature(temperature: float) -> None:
    with pytest.raises(ValueError, match="must be 0 or more"):
        softmax(torch.zeros(1, 2), temperature)


# One query
