"""Jensen–Shannon divergence between heads, compared with its definition."""

from math import log2

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attnviz.analysis import divergence
from attnviz.trace import Doubles, Floats

LAYERS, HEADS, TOKENS = 2, 5, 7


def relative_entropy(one: list[float], other: list[float]) -> float:
    return sum(p * log2(p / q) for p, q in zip(one, other, strict=True) if p > 0)


def divergence_by_definition(one: list[float], other: list[float]) -> float:
    """Return JS = ½ KL(P ‖ M) + ½ KL(Q ‖ M), where M = (P + Q) / 2 (Lin 1991)."""
    mean = [(p + q) / 2 for p, q in zip(one, other, strict=True)]
    return (relative_entropy(one, mean) + relative_entropy(other, mean)) / 2


@st.composite
def weights(draw: st.DrawFn) -> Floats:
    """Draw weights [layer, head, token, token]; about a third of the cells are 0, like masked cells."""
    cells = st.one_of(st.just(0.0), st.floats(0.0009765625, 1, width=32), st.floats(0.25, 1, width=32))
    drawn = draw(arrays(np.float32, (LAYERS, HEADS, TOKENS, TOKENS), elements=cells))
    drawn[..., 0] += 0.125  # no row is all zeros
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def divergences(found: Floats) -> Doubles:
    """Return the divergences, [head, head]; the heads are numbered layer by layer."""
    heads = found.shape[0] * found.shape[1]
    return divergence(found).reshape(heads, heads)


@settings(max_examples=5, deadline=None)
@given(weights())
def test_divergence_equals_its_definition(found: Floats) -> None:
    rows = found.astype(np.float64).reshape(LAYERS * HEADS, -1, TOKENS).tolist()
    expected = [[sum(map(divergence_by_definition, one, other)) / TOKENS for other in rows] for one in rows]
    np.testing.assert_allclose(divergences(found), expected, atol=1e-6)
