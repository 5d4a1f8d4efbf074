from itertools import product

import numpy as np
import pytest

from attnviz.analysis.arithmetic import WeightArithmetic, weight_arithmetic
from attnviz.analysis.display_tokens import shown_weights
from tests.analysis.texts import PIECES, make_block, pieces


def recompute(steps: WeightArithmetic) -> None:
    """Recompute every number in plain Python from the previous numbers, and compare."""
    products = [float(q) * float(k) for q, k in zip(steps.query_vector, steps.key_vector, strict=True)]
    np.testing.assert_allclose(steps.products, products, rtol=1e-6, atol=1e-12)
    size = sum(map(abs, products)) + 1
    assert steps.dot_product == pytest.approx(sum(products), abs=1e-6 * size)
    assert steps.score == pytest.approx(steps.dot_product * steps.scale + (steps.bias or 0), abs=1e-5 * size)
    assert steps.score == steps.score_row[steps.key_position]
    allowed = [float(s) for s, open_cell in zip(steps.score_row, steps.mask_row, strict=True) if open_cell]
    assert steps.softmax.largest == max(allowed)
    exponentials = [
        np.exp(float(score) - steps.softmax.largest) if open_cell else 0.0
        for score, open_cell in zip(steps.score_row, steps.mask_row, strict=True)
    ]
    # The float32 difference of two scores is rounded, so a small exponential has only five exact digits.
    np.testing.assert_allclose(steps.softmax.exponentials, exponentials, rtol=1e-5, atol=1e-30)
    assert steps.softmax.total == pytest.approx(sum(exponentials), rel=1e-6)
    assert steps.weight == pytest.approx(
        steps.softmax.exponentials[steps.key_position] / steps.softmax.total, abs=1e-6
    )
    row_sums = [sum(map(float, row)) for row in steps.piece_weights]
    assert steps.merged_weight == pytest.approx(sum(row_sums) / len(row_sums), abs=1e-6)
    assert steps.shown_weight == pytest.approx(steps.merged_weight / steps.shown_share, abs=1e-6)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_steps_lead_to_the_shown_weight(bias: bool, causal: bool) -> None:
    block = make_block(PIECES, bias=bias, causal=causal)
    for hide, merge in product((False, True), repeat=2):
        shown = pieces(hide_special=hide, merge_words=merge)
        picture = shown_weights(block.weights, shown)
        for head, query, key in np.ndindex(picture.shape):
            steps = weight_arithmetic(block, head, query, key, shown)
            recompute(steps)
            assert steps.shown_weight == picture[head, query, key]
            assert steps.query_position == shown.groups[query].positions[0]
            assert (steps.bias is None) is (not bias)


def test_steps_with_a_cap_lead_to_the_weight() -> None:
    block, shown = make_block(PIECES, cap=1.5), pieces(hide_special=False, merge_words=False)
    steps = weight_arithmetic(block, 1, 2, 3, shown)
    assert steps.scaled == pytest.approx(steps.dot_product * steps.scale, abs=1e-5)
    assert steps.score == pytest.approx(1.5 * np.tanh(steps.scaled / 1.5), abs=1e-6)
    assert steps.weight == pytest.approx(
        steps.softmax.exponentials[steps.key_position] / steps.softmax.total, abs=1e-6
    )


@pytest.mark.parametrize("sink", [-2.0, 1.0, 30.0])
def test_steps_with_a_sink_lead_to_the_shown_weight(sink: float) -> None:
    block = make_block(PIECES, causal=True, sinks=(sink, sink, sink))
    for hide, merge in product((False, True), repeat=2):
        shown = pieces(hide_special=hide, merge_words=merge)
        steps = weight_arithmetic(block, 1, 2, 1, shown)
        softmax = steps.softmax
        assert steps.sink == sink
        assert softmax.largest == max(*steps.score_row[steps.mask_row].tolist(), sink)
        assert softmax.sink == pytest.approx(np.exp(sink - softmax.largest))
        assert softmax.total == pytest.approx(softmax.exponentials.sum() + softmax.sink)
        assert steps.weight == pytest.approx(
            softmax.exponentials[steps.key_position] / softmax.total, abs=1e-6
        )
        assert steps.shown_weight == pytest.approx(steps.merged_weight / steps.shown_share, rel=1e-4)


def test_selected_pieces_of_merged_words() -> None:
    block, shown = make_block(PIECES), pieces(hide_special=True, merge_words=True)
    steps = weight_arithmetic(block, 1, 0, 0, shown, query_piece=2, key_piece=1)
    assert (steps.query_position, steps.key_position) == (3, 2)
    assert steps.piece_weights.shape == (3, 3)
    assert steps.weight == steps.piece_weights[2, 1]
    recompute(steps)
