"""Rollout against a product worked by hand and a plain loop; flow against a network by hand and networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.analysis.flow import flow, max_flow, mixed, rollout
from attnviz.trace import Floats


def random_weights(seed: int, layers: int, heads: int, tokens: int, *, causal: bool = False) -> Floats:
    scores = np.random.default_rng(seed).normal(0, 2, (layers, heads, tokens, tokens))
    if causal:
        scores = np.where(np.tril(np.ones((tokens, tokens))), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True), dtype=np.float32)


def test_three_tokens_worked_by_hand() -> None:
    first = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 0], [0, 1, 0], [0.5, 0, 0.5]]]
    second = [[[0, 0, 1], [1, 0, 0], [0, 0, 1]], [[0, 0, 1], [0, 0, 1], [0, 1, 0]]]
    weights = np.array([first, second], dtype=np.float32)
    # The means over heads: [1/2 1/2 0], [0 1 0], [1/4 0 3/4] and [0 0 1], [1/2 0 1/2], [0 1/2 1/2].
    below = np.array([[3 / 4, 1 / 4, 0], [0, 1, 0], [1 / 8, 0, 7 / 8]])
    above = np.array([[1 / 2, 0, 1 / 2], [1 / 4, 1 / 2, 1 / 4], [0, 1 / 4, 3 / 4]])
    through_both = np.array(
        [
            [7 / 16, 1 / 8, 7 / 16],
            [7 / 32, 9 / 16, 7 / 32],
            [3 / 32, 1 / 4, 21 / 32],
        ]
    )
    np.testing.assert_allclose(mixed(weights), np.stack([below, above]), atol=1e-7)
    np.testing.assert_allclose(rollout(weights), np.stack([below, through_both]), atol=1e-7)


def test_every_path_is_counted() -> None:
    layers, heads, tokens = 3, 2, 5
    weights = random_weights(3, layers, heads, tokens)
    paths = np.zeros((tokens, tokens))
    for top in range(tokens):
        for upper in range(tokens):
            for lower in range(tokens):
                for word in range(tokens):
                    share = 1.0
                    for layer, query, key in ((2, top, upper), (1, upper, lower), (0, lower, word)):
                        mean = sum(float(weights[layer, head, query, key]) for head in range(heads)) / heads
                        share *= (mean + (query == key)) / 2
                    paths[top, word] += share
    np.testing.assert_allclose(rollout(weights)[-1], paths, atol=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 3), st.integers(1, 7))
def test_rows_sum_to_one_and_nothing_comes_from_ahead(
    seed: int, layers: int, heads: int, tokens: int
) -> None:
    rolled = rollout(random_weights(seed, layers, heads, tokens, causal=True))
    np.testing.assert_allclose(rolled.sum(axis=-1), 1, atol=1e-5)
    assert (rolled[:, ~np.tril(np.ones((tokens, tokens), dtype=np.bool_))] == 0).all()


def by_networkx(layers: Floats, token: int, source: int) -> float:
    graph = nx.DiGraph()
    graph.add_nodes_from([(len(layers), token), (0, source)])
    for layer, widths in enumerate(layers):
        for (query, key), width in np.ndenumerate(widths):
            if width > 0:
                graph.add_edge((layer + 1, query), (layer, key), capacity=float(width))
    value: float = nx.maximum_flow_value(graph, (len(layers), token), (0, source))
    return value


def test_two_layers_worked_by_hand() -> None:
    below = np.array([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.25, 0.75]])
    above = np.array([[0.75, 0.25, 0], [0, 1, 0], [0.5, 0, 0.5]])
    layers = np.stack([below, above])
    # From token 1, 0.75 reaches the first place in the middle and 0.25 the second. To word 2, the pipes from
    # there are 0.5 and 0.5 wide: 0.5 + 0.25. To word 3 only the second leads: 0.25.
    assert flow(layers, 0, 1) == pytest.approx(0.75)
    assert flow(layers, 0, 2) == pytest.approx(0.25)
    # Token 3 gets 0.5 to the first place and 0.5 to the third; to word 1 only the first leads.
    assert flow(layers, 2, 0) == pytest.approx(0.5)


def test_what_was_sent_a_wrong_way_is_sent_back() -> None:
    # The short way 0 → 1 → 2 → 7 blocks both long ones, 0 → 3 → 4 → 2 → 7 and 0 → 1 → 5 → 6 → 7.
    capacity = np.zeros((8, 8))
    for start, end in ((0, 1), (1, 2), (2, 7), (0, 3), (3, 4), (4, 2), (1, 5), (5, 6), (6, 7)):
        capacity[start, end] = 1
    assert max_flow(capacity, 0, 7) == 2


def test_nowhere_to_flow() -> None:
    assert max_flow(np.zeros((3, 3)), 0, 2) == 0


@settings(max_examples=25)
@given(
    st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3), st.integers(1, 5), st.booleans(), st.data()
)
def test_as_networkx(
    seed: int, depth: int, heads: int, tokens: int, causal: bool, data: st.DataObject
) -> None:
    layers = mixed(random_weights(seed, depth, heads, tokens, causal=causal))
    token, source = (data.draw(st.integers(0, tokens - 1)) for _ in range(2))
    assert flow(layers, token, source) == pytest.approx(by_networkx(layers, token, source), abs=1e-9)
