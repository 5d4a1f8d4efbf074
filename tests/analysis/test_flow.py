"""The flow against a network worked by hand, and against networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.analysis.flow import flow, max_flow
from attnviz.analysis.rollout import mixed
from attnviz.trace import Floats
from tests.analysis.test_rollout import random_weights


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


def test_as_networkx_where_many_ways_are_closed() -> None:
    random = np.random.default_rng(7)
    layers = np.where(random.random((5, 7, 7)) < 0.6, 0, random.random((5, 7, 7)))
    for token in range(7):
        for source in range(7):
            assert flow(layers, token, source) == pytest.approx(by_networkx(layers, token, source), abs=1e-9)
