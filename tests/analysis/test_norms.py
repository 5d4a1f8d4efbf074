"""Norms of weighted vectors, compared with plain loops and with the layer's output."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.norms import FrozenNorm, head_norms, layer_norms, residual_norms, weighted_vectors
from attnviz.errors import AttnvizError
from attnviz.trace import Block, Floats
from tests.analysis.texts import make_block, words

TOKENS = words("a b c d e f g")
D_MODEL = 11


@pytest.fixture
def block() -> Block:
    projection = np.random.default_rng(5).standard_normal((3, 5, D_MODEL), dtype=np.float32)
    return replace(make_block(TOKENS), projection=projection)


def test_norms_of_heads_equal_a_plain_loop(block: Block) -> None:
    assert block.projection is not None
    for query in range(7):
        found = head_norms(block, query)
        for head in range(3):
            for key in range(7):
                vector = block.value[head, key] @ block.projection[head]
                length = float(block.weights[head, query, key]) * np.sqrt((vector**2).sum())
                assert found[head, key] == pytest.approx(length, rel=1e-5)


def test_vectors_of_heads_are_summed_before_the_norm(block: Block) -> None:
    assert block.projection is not None
    for key in range(7):
        total = sum(
            block.weights[head, 2, key] * (block.value[head, key] @ block.projection[head])
            for head in range(3)
        )
        assert layer_norms(block, 2)[key] == pytest.approx(float(np.sqrt((total**2).sum())), rel=1e-5)
    assert (layer_norms(block, 2) < head_norms(block, 2).sum(axis=0)).all()


def test_normalized_parts_sum_to_the_output_of_the_layer_norm(block: Block) -> None:
    """The layer norm of a sum is the sum of its normalized parts, including the bias, plus β."""
    random = np.random.default_rng(17)
    residual, bias, gain, shift = random.standard_normal((4, D_MODEL), dtype=np.float32)
    query = 3
    parts = weighted_vectors(block, query).sum(axis=0)
    parts[query] += residual
    total = parts.sum(axis=0) + bias
    deviation = float(np.sqrt(total.var() + 1e-5))

    def normalize(vector: Floats) -> Floats:
        normalized: Floats = (vector - vector.mean()) / deviation * gain
        return normalized

    expected = (total - total.mean()) / deviation * gain + shift
    summed = sum(normalize(part) for part in parts) + normalize(bias) + shift
    np.testing.assert_allclose(summed, expected, atol=1e-5)
    np.testing.assert_allclose(
        residual_norms(block, query, residual, FrozenNorm(gain, shift, deviation)),
        [np.sqrt((normalize(part) ** 2).sum()) for part in parts],
        rtol=1e-4,
    )


def test_block_without_w_o_has_no_norms(block: Block) -> None:
    with pytest.raises(AttnvizError, match="has no W_O"):
        layer_norms(replace(block, projection=None), 0)
    with pytest.raises(AttnvizError, match="no token 7"):
        layer_norms(block, 7)
