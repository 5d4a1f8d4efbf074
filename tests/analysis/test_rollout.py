"""Rollout: an example of three tokens, and its properties."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.rollout import rollout, with_residual
from attnviz.trace import Floats


def random_weights(seed: int, layers: int, heads: int, tokens: int, *, causal: bool = False) -> Floats:
    scores = np.random.default_rng(seed).normal(0, 2, (layers, heads, tokens, tokens))
    if causal:
        scores = np.where(np.tril(np.ones((tokens, tokens))), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True), dtype=np.float32)


def test_rollout_of_three_tokens() -> None:
    first = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 1, 0], [0.5, 0, 0.5]]]
    second = [[[0, 0, 1], [1, 0, 0], [0, 0, 1]], [[0, 0, 1], [0, 0, 1], [0, 1, 0]]]
    weights = np.array([first, second], dtype=np.float32)
    # The means over heads: [1/2 1/2 0], [0 1 0], [1/4 0 3/4] and [0 0 1], [1/2 0 1/2], [0 1/2 1/2].
    below = np.array([[3 / 4, 1 / 4, 0], [0, 1, 0], [1 / 8, 0, 7 / 8]])
    above = np.array([[1 / 2, 0, 1 / 2], [1 / 4, 1 / 2, 1 / 4], [0, 1 / 4, 3 / 4]])
    product = np.array([[7 / 16, 1 / 8, 7 / 16], [7 / 32, 9 / 16, 7 / 32], [3 / 32, 1 / 4, 21 / 32]])
    np.testing.assert_allclose(with_residual(weights), np.stack([below, above]), atol=1e-7)
    np.testing.assert_allclose(rollout(weights), np.stack([below, product]), atol=1e-7)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 3), st.integers(1, 7))
def test_rows_sum_to_one_and_future_tokens_stay_zero(seed: int, layers: int, heads: int, tokens: int) -> None:
    rolled = rollout(random_weights(seed, layers, heads, tokens, causal=True))
    np.testing.assert_allclose(rolled.sum(axis=-1), 1, atol=1e-5)
    assert (rolled[:, ~np.tril(np.ones((tokens, tokens), dtype=np.bool_))] == 0).all()
