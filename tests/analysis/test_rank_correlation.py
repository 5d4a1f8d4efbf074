"""Ranks and Spearman's ρ, by hand and against pandas."""

import math
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.rank_correlation import by_chance, rank_correlation, ranks

FEW = st.lists(st.integers(0, 5), min_size=2, max_size=11)


def test_equal_values_share_their_ranks() -> None:
    assert ranks([3, 7, 3, 1]).tolist() == [2.5, 1, 2.5, 4]


def test_worked_by_hand() -> None:
    # The ranks 1 2 3 4 5 and 2 1 4 3 5 are 1, 1, 1, 1, 0 apart: ρ = 1 − 6 · 4 / (5 · 24).
    assert rank_correlation([50, 40, 30, 20, 10], [4, 5, 2, 3, 1]) == pytest.approx(0.8)
    assert rank_correlation([1, 2, 3], [10, 200, 3000]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [9, 8, 7]) == pytest.approx(-1)


def test_without_an_order_there_is_no_agreement() -> None:
    assert math.isnan(rank_correlation([1, 1, 1], [1, 2, 3]))
    assert math.isnan(rank_correlation([1], [1]))
    assert math.isnan(rank_correlation([], []))


@given(FEW, st.randoms())
def test_as_pandas(one: list[int], random: Random) -> None:
    other = [random.randint(0, 5) for _ in one]
    expected = pd.DataFrame({"one": one, "other": other}).corr(method="spearman").loc["one", "other"]
    found = rank_correlation(one, other)
    assert (math.isnan(found) and math.isnan(expected)) or found == pytest.approx(expected)


def test_what_chance_reaches() -> None:
    # The exact two-sided critical values at 5 % of tables of Spearman's ρ: 0.618 for 11, 0.380 for 27.
    assert by_chance(11) == pytest.approx(0.61, abs=0.02)
    assert by_chance(27) == pytest.approx(0.38, abs=0.02)
    assert np.isfinite(by_chance(4))
