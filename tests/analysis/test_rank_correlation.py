"""Ranks and Spearman's ρ, by hand and against pandas."""

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
    critical_value,
    rank_correlation,
    ranks,
    rounded_up,
)

FEW = st.lists(st.integers(0, 5), min_size=2, max_size=11)


def test_equal_values_share_their_ranks() -> None:
    assert ranks([3, 7, 3, 1]).tolist() == [2.5, 1, 2.5, 4]


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


def all_agreements(count: int) -> list[Fraction]:
    """Spearman's ρ of every order of so many values with one of them."""
    whole = count * (count**2 - 1)
    return [
        1 - Fraction(6 * sum((place - rank) ** 2 for place, rank in enumerate(order)), whole)
        for order in permutations(range(count))
    ]


@pytest.mark.parametrize("count", [1, 4])
def test_of_few_values_chance_makes_even_the_same_order_too_often(count: int) -> None:
    assert critical_value(count) is None


@pytest.mark.parametrize(("count", "comparisons"), [(5, 1), (7, 1), (8, 1), (7, 10)])
def test_the_bound_is_the_smallest_that_all_orders_reach_seldom(count: int, comparisons: int) -> None:
    found, far = critical_value(count, comparisons), [abs(each) for each in all_agreements(count)]
    assert found is not None
    times = Counter(far)
    reached = dict(
        zip(sorted(times), np.cumsum([times[each] for each in sorted(times)[::-1]])[::-1], strict=True)
    )
    bound = min(
        each for each, orders in reached.items() if orders / len(far) <= SIGNIFICANCE_LEVEL / comparisons
    )
    assert found == pytest.approx(float(bound))


@pytest.mark.parametrize(
    ("count", "comparisons", "bound"),
    [
        *((9, 1, 0.7), (10, 1, 0.648), (12, 1, 0.587), (13, 1, 0.56), (20, 1, 0.447), (27, 1, 0.382)),
        *((11, 10, 0.8), (20, 10, 0.612), (20, 50, 0.693), (30, 50, 0.575)),
    ],
)
def test_the_bound_as_in_tables(count: int, comparisons: int, bound: float) -> None:
    """The two-sided critical values (Zar 1972); ours are those of random samples."""
    found = critical_value(count, comparisons)
    assert found == pytest.approx(bound, abs=6e-3 * (1 + (comparisons > 1)))


@pytest.mark.parametrize(("bound", "rounded"), [(0.3947, "0.40"), (0.4, "0.40"), (1.0, "1.00")])
def test_a_bound_is_rounded_up(bound: float, rounded: str) -> None:
    assert rounded_up(bound) == rounded
