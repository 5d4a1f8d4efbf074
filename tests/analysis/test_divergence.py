"""Jensen–Shannon between heads: by hand, against its definition in loops, and its laws."""

from math import log2, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attnviz.analysis.divergence import divergences
from attnviz.trace import Floats

LAYERS, SENTENCES, HEADS, TOKENS = 2, 3, 5, 7


def relative_entropy(one: list[float], other: list[float]) -> float:
    return sum(p * log2(p / q) for p, q in zip(one, other, strict=True) if p > 0)


def by_definition(one: list[float], other: list[float]) -> float:
    """JS = ½ KL(P ‖ M) + ½ KL(Q ‖ M), M the mean of both: Lin 1991."""
    mean = [(p + q) / 2 for p, q in zip(one, other, strict=True)]
    return (relative_entropy(one, mean) + relative_entropy(other, mean)) / 2


@st.composite
def weights(draw: st.DrawFn) -> list[Floats]:
    """Of each layer, [sentence, head, token, token]; a third of the cells are 0, as behind a mask."""
    cells = st.one_of(st.just(0.0), st.floats(0.0009765625, 1, width=32), st.floats(0.25, 1, width=32))
    drawn = draw(arrays(np.float32, (LAYERS, SENTENCES, HEADS, TOKENS, TOKENS), elements=cells))
    drawn[..., 0] += 0.125  # no row is empty
    return list(drawn / drawn.sum(axis=-1, keepdims=True))


def test_by_hand() -> None:
    """Two heads that never meet are 1 bit apart; halves against one cell: 1 − ¾ log₂ 3 + ½ = 0.311 bits."""
    one, other, half = [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]
    layer = np.array([[[one, one], [other, one], [half, one]]], dtype=np.float32)
    found = divergences([layer])
    assert (found.sentences, found.tokens) == (1, 2)
    partly = 1.5 - 0.75 * log2(3)
    assert partly == pytest.approx(0.3112781)
    expected = [[0, 1, partly], [1, 0, partly], [partly, partly, 0]]
    np.testing.assert_allclose(found.total, expected, atol=1e-6)
    np.testing.assert_allclose(found.mean, np.array(expected) / 2, atol=1e-6)


def test_a_sink_is_one_key_more() -> None:
    """0.25 and all of it to the sink, against 0.25 and 0.75: the sink is elsewhere."""
    layer = np.array([[[[0.25, 0]], [[0.25, 0.75]], [[0.25, 0]]]], dtype=np.float32)
    np.testing.assert_allclose(
        divergences([layer]).mean, [[0, 0.75, 0], [0.75, 0, 0.75], [0, 0.75, 0]], atol=1e-6
    )


@settings(max_examples=5, deadline=None)
@given(weights())
def test_as_defined(layers: list[Floats]) -> None:
    of_head = np.concatenate([np.moveaxis(layer, 1, 0) for layer in layers]).astype(np.float64)
    rows = of_head.reshape(LAYERS * HEADS, -1, TOKENS).tolist()
    expected = [
        [sum(map(by_definition, one, other)) / (SENTENCES * TOKENS) for other in rows] for one in rows
    ]
    np.testing.assert_allclose(divergences(layers).mean, expected, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(weights())
def test_laws(layers: list[Floats]) -> None:
    whole = divergences(layers)
    mean = whole.mean
    assert np.array_equal(mean, mean.T)
    assert not mean.diagonal().any()
    assert mean.min() >= 0
    assert mean.max() <= 1 + 1e-6
    # Its square root keeps the triangle's inequality.
    apart = np.sqrt(mean)
    assert (apart[:, None] <= apart[:, :, None] + apart[None] + sqrt(1e-6)).all()
    parts = [divergences([layer[at : at + 1] for layer in layers]) for at in range(SENTENCES)]
    joined = parts[2] + (parts[0] + parts[1])
    assert (joined.sentences, joined.tokens) == (whole.sentences, whole.tokens)
    np.testing.assert_allclose(joined.total, whole.total, atol=1e-5)


def test_layers_must_have_read_the_same() -> None:
    sizes = [(1, 2, 3, 3), (1, 2, 5, 5)]
    with pytest.raises(ValueError, match="same sentences"):
        divergences([np.ones(size, dtype=np.float32) for size in sizes])
