"""Confidence intervals, compared with score tests, published values and simulations."""

from math import isclose, isnan, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.intervals import mean_interval, wilson


def rejects(share: float, right: int, total: int, z: float) -> bool:
    """Return whether a score test rejects this proportion, given the number of correct answers."""
    return abs(right / total - share) > z * sqrt(share * (1 - share) / total)


def interval_end(right: int, total: int, inside: float, outside: float) -> float:
    """Return the proportion at which the score test starts to reject, by bisection."""
    z = NormalDist().inv_cdf(0.975)
    for _ in range(60):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if rejects(middle, right, total, z) else (middle, outside)
    return inside


@given(st.integers(1, 400).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_interval_ends_where_the_score_test_rejects(answers: tuple[int, int]) -> None:
    right, total = answers
    low, high = wilson(right, total)
    share = right / total
    assert isclose(low, interval_end(right, total, share, 0.0), abs_tol=1e-9)
    assert isclose(high, interval_end(right, total, share, 1.0), abs_tol=1e-9)
    assert 0 <= low <= share <= high <= 1


def test_intervals_equal_published_values() -> None:
    # Newcombe 1998, “Two-sided confidence intervals for the single proportion”, table I, method 3.
    assert [round(each, 4) for each in wilson(81, 263)] == [0.2553, 0.3662]
    assert [round(each, 4) for each in wilson(15, 148)] == [0.0624, 0.1605]
    assert [round(each, 4) for each in wilson(0, 20)] == [0.0, 0.1611]
    assert [round(each, 4) for each in wilson(1, 29)] == [0.0061, 0.1718]


def test_no_answers_give_the_full_range_and_impossible_counts_raise() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="must be from 0 to 3, not 5"):
        wilson(5, 3)


def test_interval_of_a_mean_has_its_coverage() -> None:
    random = np.random.default_rng(0)
    samples = random.exponential(size=(4_000, 100))
    covered = 0
    for sample in samples:
        low, high = mean_interval(float(sample.mean()), float(sample.var()), len(sample))
        covered += low <= 1 <= high
    assert 0.92 < covered / len(samples) < 0.96
    assert all(map(isnan, mean_interval(0.5, 0.1, 29)))
