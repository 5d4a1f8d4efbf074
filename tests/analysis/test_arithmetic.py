from itertools import product

import numpy as np
import pytest

from attnviz.analysis.arithmetic import WeightArithmetic, weight_arithmetic
from attnviz.analysis.display_tokens import shown_weights
from tests.analysis.texts import PIECES, make_block, pieces


def recompute(told: WeightArithmetic) -> None:
    """Every number again, in plain Python, from the numbers that stand before it on the page."""
    products = [float(q) * float(k) for q, k in zip(told.query_vector, told.key_vector, strict=True)]
    np.testing.assert_allclose(told.products, products, rtol=1e-6, atol=1e-12)
    size = sum(map(abs, products)) + 1
    assert told.dot_product == pytest.approx(sum(products), abs=1e-6 * size)
    assert told.score == pytest.approx(told.dot_product * told.scale + (told.bias or 0), abs=1e-5 * size)
    assert told.score == told.score_row[told.key_position]
    allowed = [float(s) for s, open_cell in zip(told.score_row, told.mask_row, strict=True) if open_cell]
    assert told.softmax.largest == max(allowed)
    exponentials = [
        np.exp(float(score) - told.softmax.largest) if open_cell else 0.0
        for score, open_cell in zip(told.score_row, told.mask_row, strict=True)
    ]
    # In float32 the difference of two scores is rounded first, so a small exponential keeps five digits.
    np.testing.assert_allclose(told.softmax.exponentials, exponentials, rtol=1e-5, atol=1e-30)
    assert told.softmax.total == pytest.approx(sum(exponentials), rel=1e-6)
    assert told.weight == pytest.approx(
        told.softmax.exponentials[told.key_position] / told.softmax.total, abs=1e-6
    )
    pieces = [sum(map(float, row)) for row in told.piece_weights]
    assert told.merged_weight == pytest.approx(sum(pieces) / len(pieces), abs=1e-6)
    assert told.shown_weight == pytest.approx(told.merged_weight / told.shown_share, abs=1e-6)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_every_step_leads_to_the_weight_shown(bias: bool, causal: bool) -> None:
    block = make_block(PIECES, bias=bias, causal=causal)
    for hide, merge in product((False, True), repeat=2):
        shown = pieces(hide_special=hide, merge_words=merge)
        picture = shown_weights(block.weights, shown)
        for head, query, key in np.ndindex(picture.shape):
            told = weight_arithmetic(block, head, query, key, shown)
            recompute(told)
            assert told.shown_weight == picture[head, query, key]
            assert told.query_position == shown.groups[query].positions[0]
            assert (told.bias is None) is (not bias)


def test_a_capped_score_leads_to_the_weight_shown() -> None:
    block, shown = make_block(PIECES, cap=1.5), pieces(hide_special=False, merge_words=False)
    told = weight_arithmetic(block, 1, 2, 3, shown)
    assert told.scaled == pytest.approx(told.dot_product * told.scale, abs=1e-5)
    assert told.score == pytest.approx(1.5 * np.tanh(told.scaled / 1.5), abs=1e-6)
    assert told.weight == pytest.approx(
        told.softmax.exponentials[told.key_position] / told.softmax.total, abs=1e-6
    )


@pytest.mark.parametrize("sink", [-2.0, 1.0, 30.0])
def test_with_a_sink_every_step_leads_to_the_weight_shown(sink: float) -> None:
    block = make_block(PIECES, causal=True, sinks=(sink, sink, sink))
    for hide, merge in product((False, True), repeat=2):
        shown = pieces(hide_special=hide, merge_words=merge)
        told = weight_arithmetic(block, 1, 2, 1, shown)
        steps = told.softmax
        assert told.sink == sink
        assert steps.largest == max(*told.score_row[told.mask_row].tolist(), sink)
        assert steps.sink == pytest.approx(np.exp(sink - steps.largest))
        assert steps.total == pytest.approx(steps.exponentials.sum() + steps.sink)
        assert told.weight == pytest.approx(steps.exponentials[told.key_position] / steps.total, abs=1e-6)
        assert told.shown_weight == pytest.approx(told.merged_weight / told.shown_share, rel=1e-4)


def test_the_chosen_pieces_of_merged_words() -> None:
    block, shown = make_block(PIECES), pieces(hide_special=True, merge_words=True)
    told = weight_arithmetic(block, 1, 0, 0, shown, query_piece=2, key_piece=1)
    assert (told.query_position, told.key_position) == (3, 2)
    assert told.piece_weights.shape == (3, 3)
    assert told.weight == told.piece_weights[2, 1]
    recompute(told)
