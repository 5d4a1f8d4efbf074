import numpy as np
import pytest

from attnviz.analysis.stages import STAGES, at_stage, stages, window
from tests.analysis.texts import make_block, words

TOKENS = words("a b c d e f g")


@pytest.mark.parametrize("bias", [False, True])
def test_each_stage_follows_from_the_previous_one(bias: bool) -> None:
    block = make_block(TOKENS, bias=bias, causal=True)
    dots, scaled, masked, weights = (at_stage(block, stage.name) for stage in STAGES)
    expected = [
        [[float(np.dot(q, k)) for k in block.key[head]] for q in block.query[head]] for head in range(3)
    ]
    np.testing.assert_allclose(dots, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        dots * block.scale + (0 if block.bias is None else block.bias), scaled, rtol=1e-6, atol=1e-6
    )
    assert np.array_equal(masked[:, block.mask], scaled[:, block.mask])
    assert np.all(masked[:, ~block.mask] == -np.inf)
    exponentials = np.exp(masked.astype(np.float64))
    np.testing.assert_allclose(weights, exponentials / exponentials.sum(-1, keepdims=True), atol=1e-6)


def test_cap_is_a_separate_stage() -> None:
    block = make_block(TOKENS, bias=True, causal=True, cap=1.5)
    names = [stage.name for stage in stages(block)]
    assert names == ["dot product", "bias", "scaled", "capped", "masked", "weights"]
    dots, bias, scaled, capped, masked, weights = (at_stage(block, name) for name in names)
    np.testing.assert_allclose(dots * block.scale + bias, scaled, atol=1e-5)
    np.testing.assert_allclose(capped, 1.5 * np.tanh(scaled / 1.5), atol=1e-6)
    assert np.abs(scaled).max() > 3  # far beyond the cap
    assert np.array_equal(masked[:, block.mask], capped[:, block.mask])
    exponentials = np.exp(masked.astype(np.float64))
    np.testing.assert_allclose(weights, exponentials / exponentials.sum(-1, keepdims=True), atol=1e-6)


def test_sinks_are_a_separate_stage() -> None:
    block = make_block(TOKENS, causal=True, sinks=(-1.0, 0.5, 3.0))
    assert [stage.name for stage in stages(block)] == [
        *("dot product", "scaled", "masked", "minus sink", "weights")
    ]
    above = np.exp(at_stage(block, "minus sink").astype(np.float64))
    np.testing.assert_allclose(above / (1 + above.sum(-1, keepdims=True)), block.weights, atol=1e-6)
    assert block.weights[2].sum(-1).max() < 0.99
    assert np.array_equal(at_stage(make_block(TOKENS), "minus sink"), make_block(TOKENS).scores)


ALL = np.ones((7, 7), bool)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (ALL, None),
        (np.tril(ALL), None),
        (np.tril(np.triu(ALL, -2)), (2, 0)),
        (np.tril(np.triu(ALL, -3), 1), (3, 1)),
        (np.triu(np.tril(ALL)) | (np.arange(7) == 0), None),
    ],
)
def test_sliding_window_is_recognized(
    mask: np.ndarray[tuple[int, int], np.dtype[np.bool_]], expected: object
) -> None:
    assert window(mask) == expected
