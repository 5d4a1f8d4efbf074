"""Ranks and Spearman's ρ, compared with pandas and tables of critical values."""

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.rank_correlation import (
    SIGNIFICANCE_LEVEL,
    correlation_of_ranks,
    critical_value,
    ranks,
    rounded_up,
)

FEW = st.lists(st.integers(0, 5), min_size=2, max_size=11)


def test_equal_values_have_the_mean_rank() -> None:
    assert ranks([3, 7, 3, 1]).tolist() == [2.5, 1, 2.5, 4]


def test_correlation_of_constant_values_is_undefined() -> None:
    for one, other in (([1, 1, 1], [1, 2, 3]), ([1], [1]), ([], [])):
        assert math.isnan(correlation_of_ranks(ranks(one), ranks(other)))


@given(FEW, st.randoms())
def test_correlation_equals_pandas(one: list[int], random: Random) -> None:
    other = [random.randint(0, 5) for _ in one]
    expected = pd.DataFrame({"one": one, "other": other}).corr(method="spearman").loc["one", "other"]
    found = correlation_of_ranks(ranks(one), ranks(other))
    assert (math.isnan(found) and math.isnan(expected)) or found == pytest.approx(expected)


def all_correlations(count: int) -> list[Fraction]:
    """Return Spearman's ρ of every permutation of `count` values with the identity."""
    denominator = count * (count**2 - 1)
    return [
        1 - Fraction(6 * sum((place - rank) ** 2 for place, rank in enumerate(order)), denominator)
        for order in permutations(range(count))
    ]


@pytest.mark.parametrize("count", [1, 4])
def test_few_values_have_no_critical_value(count: int) -> None:
    assert critical_value(count) is None


@pytest.mark.parametrize(("count", "comparisons"), [(5, 1), (7, 1), (8, 1), (7, 10)])
def test_critical_value_is_exact_for_few_values(count: int, comparisons: int) -> None:
    found, correlations = critical_value(count, comparisons), [abs(each) for each in all_correlations(count)]
    assert found is not None
    counts = Counter(correlations)
    reached = dict(
        zip(sorted(counts), np.cumsum([counts[each] for each in sorted(counts)[::-1]])[::-1], strict=True)
    )
    bound = min(
        each
        for each, orders in reached.items()
        if orders / len(correlations) <= SIGNIFICANCE_LEVEL / comparisons
    )
    assert found == pytest.approx(float(bound))


@pytest.mark.parametrize(
    ("count", "comparisons", "bound"),
    [
        *((9, 1, 0.7), (10, 1, 0.648), (12, 1, 0.587), (13, 1, 0.56), (20, 1, 0.447), (27, 1, 0.382)),
        *((11, 10, 0.8), (20, 10, 0.612), (20, 50, 0.693), (30, 50, 0.575)),
    ],
)
def test_critical_values_equal_published_tables(count: int, comparisons: int, bound: float) -> None:
    """Two-sided critical values of Zar 1972; `critical_value` estimates these from random samples."""
    found = critical_value(count, comparisons)
    assert found == pytest.approx(bound, abs=6e-3 * (1 + (comparisons > 1)))


@pytest.mark.parametrize(("bound", "rounded"), [(0.3947, "0.40"), (0.4, "0.40"), (1.0, "1.00")])
def test_critical_value_is_rounded_up(bound: float, rounded: str) -> None:
    assert rounded_up(bound) == rounded
