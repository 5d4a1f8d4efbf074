"""Weights as whole numbers: near the model's, and printed never another digit."""

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnviz.analysis.display_tokens import rescaled
from attnviz.export.report.fixed_point import MASKED, ONE, PRINTED, codes, lost, planes, printed

FREE = np.ones((1, 1), np.bool_)
SHARES = st.floats(0, 1, width=32)


def half_way(parts: int) -> NDArray[np.float32]:
    """The floats on both sides of each number that lies half way between two printed ones."""
    middle = ((np.arange(parts) + 0.5) / parts).astype(np.float32)
    return np.concatenate([np.nextafter(middle, 0), middle, np.nextafter(middle, 1)]).astype(np.float32)


def as_printed(share: float, parts: int) -> int:
    return int((Decimal(share) * parts).to_integral_value(ROUND_HALF_UP))


@given(SHARES)
def test_printed_rounds_as_decimals_do(share: float) -> None:
    for parts in PRINTED:
        assert printed(np.array([share]), parts)[0] == as_printed(share, parts)


@pytest.mark.parametrize("parts", PRINTED)
def test_the_hardest_weights_print_the_same(parts: int) -> None:
    weights = half_way(parts).reshape(1, 1, -1)
    mask = np.ones(weights.shape[1:], np.bool_)
    shares = codes(weights, mask) / ONE
    assert np.abs(shares - weights).max() < 1 / ONE
    for digits in PRINTED:
        np.testing.assert_array_equal(printed(shares, digits), printed(weights, digits))
    # Rounding to the nearest code would not have done.
    assert (printed(np.rint(weights * float(ONE)) / ONE, parts) != printed(weights, parts)).any()


@given(SHARES)
def test_any_weight_prints_the_same(share: float) -> None:
    weight = np.full((1, 1, 1), share, np.float32)
    [code] = codes(weight, FREE).ravel()
    for parts in PRINTED:
        assert as_printed(code / ONE, parts) == as_printed(float(weight[0, 0, 0]), parts)
    assert [bool(code > 0), bool(code < ONE)] == [
        share > 0,
        share < 1,
    ]  # "< 0.1 %" is not 0, nor "> 99.9 %" all


def test_zero_and_one_are_exact_and_masked_is_no_weight() -> None:
    weights = np.array([[[0, 1, 0]]], np.float32)
    mask = np.array([[True, True, False]])
    assert codes(weights, mask).tolist() == [[[0, ONE, MASKED]]]


@given(st.lists(SHARES, min_size=2, max_size=7), st.integers(0, 40))
def test_a_row_of_which_little_is_left_is_lost_unless_it_prints_the_same(
    row: list[float], smaller: int
) -> None:
    kept = np.array([[row]], np.float32) / np.float32(len(row) * 2.0**smaller)
    expected, left = rescaled(kept), kept.sum(-1)
    coded = codes(kept, np.ones_like(kept, np.bool_))
    shown = np.minimum(2, coded / ONE / np.where(left > 0, left, 1)[..., None].astype(np.float64))
    same = all((printed(shown, parts) == printed(expected, parts)).all() for parts in PRINTED)
    same &= bool(np.all((shown > 0) == (expected > 0)) and np.all((shown < 1) == (expected < 1)))
    assert lost(coded, left, expected).tolist() == [[not same]]
    own = codes(expected, np.ones_like(kept, np.bool_)) / ONE
    for share, weight in zip(own.ravel().tolist(), expected.ravel().tolist(), strict=True):
        for parts in PRINTED:
            assert as_printed(share, parts) == as_printed(weight, parts)


def test_a_masked_cell_makes_no_row_a_lost_one() -> None:
    kept = np.array([[[0.25, 0.0]]], np.float32)
    coded = codes(kept, np.array([[True, False]]))
    assert not lost(coded, np.full((1, 1), 0.25, np.float32), np.array([[[1.0, 0.0]]], np.float32)).any()


def test_planes_hold_the_lowest_bytes_first() -> None:
    assert planes(np.array([[0x010203, 0x0A0B0C]], np.uint32)) == bytes([3, 12, 2, 11, 1, 10])
