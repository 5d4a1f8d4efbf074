"""Norms against plain loops, and against the whole that their vectors make."""

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


def test_each_head_by_a_plain_loop(block: Block) -> None:
    assert block.projection is not None
    for query in range(7):
        found = head_norms(block, query)
        for head in range(3):
            for key in range(7):
                vector = block.value[head, key] @ block.projection[head]
                length = float(block.weights[head, query, key]) * np.sqrt((vector**2).sum())
                assert found[head, key] == pytest.approx(length, rel=1e-5)


def test_vectors_are_added_before_the_length_is_taken(block: Block) -> None:
    assert block.projection is not None
    for key in range(7):
        whole = sum(
            block.weights[head, 2, key] * (block.value[head, key] @ block.projection[head])
            for head in range(3)
        )
        assert layer_norms(block, 2)[key] == pytest.approx(float(np.sqrt((whole**2).sum())), rel=1e-5)
    assert (layer_norms(block, 2) < head_norms(block, 2).sum(axis=0)).all()


def test_parts_and_surroundings_make_the_normed_whole(block: Block) -> None:
    """The layer norm of the whole is the sum of its parts' through the same norm, with b_O's part and β."""
    random = np.random.default_rng(17)
    residual, bias, gain, shift = random.standard_normal((4, D_MODEL), dtype=np.float32)
    query = 3
    parts = weighted_vectors(block, query).sum(axis=0)
    parts[query] += residual
    whole = parts.sum(axis=0) + bias
    deviation = float(np.sqrt(whole.var() + 1e-5))

    def through_the_norm(vector: Floats) -> Floats:
        normed: Floats = (vector - vector.mean()) / deviation * gain
        return normed

    normed = (whole - whole.mean()) / deviation * gain + shift
    together = sum(through_the_norm(part) for part in parts) + through_the_norm(bias) + shift
    np.testing.assert_allclose(together, normed, atol=1e-5)
    np.testing.assert_allclose(
        residual_norms(block, query, residual, FrozenNorm(gain, shift, deviation)),
        [np.sqrt((through_the_norm(part) ** 2).sum()) for part in parts],
        rtol=1e-4,
    )


def test_without_w_o_there_are_no_norms(block: Block) -> None:
    with pytest.raises(AttnvizError, match="has no W_O"):
        layer_norms(replace(block, projection=None), 0)
    with pytest.raises(AttnvizError, match="no token 7"):
        layer_norms(block, 7)
