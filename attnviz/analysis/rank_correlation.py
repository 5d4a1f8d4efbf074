"""Spearman's rank correlation of two measures, and its critical value."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, factorial

import numpy as np
from numpy.typing import ArrayLike

from attnviz.trace import Doubles

SIGNIFICANCE_LEVEL = 0.05
"""The significance level, before the correction for several comparisons."""

_ORDERS = 1_000
_ROUNDING = 1e-6


def ranks(values: ArrayLike) -> Doubles:
    """Return the rank of each value, 1 for the largest; ties have the mean of their ranks."""
    numbers = np.asarray(values, dtype=np.float64)
    larger = (numbers[None, :] > numbers[:, None]).sum(axis=1)
    equal = (numbers[None, :] == numbers[:, None]).sum(axis=1)
    shared: Doubles = larger + (equal + 1) / 2
    return shared


def correlation_of_ranks(one: Doubles, other: Doubles) -> float:
    """Return Spearman's ρ of two rankings (Spearman 1904); NaN for a single rank, or if all are equal."""
    if len(one) < 2:
        return float("nan")
    first, second = one - one.mean(), other - other.mean()
    size = np.sqrt((first**2).sum() * (second**2).sum())
    return float((first * second).sum() / size) if size else float("nan")


@lru_cache(maxsize=64)
def critical_value(count: int, comparisons: int = 1) -> float | None:
    """Return the critical value of |ρ| at p ≤ 5 % for any of several comparisons (Bonferroni).

    The tail probability of each |ρ| is estimated by comparing 1,000 random orders with 1,000 others (fixed
    seed; the comparisons are pairwise independent); three standard errors are added to it.

    Args:
        count: Number of values, without ties.
        comparisons: Number of comparisons.

    Returns:
        The critical value, 0 to 1; None if there are too few values (4 or fewer are always too few).
    """
    if 2 / factorial(count) > SIGNIFICANCE_LEVEL / comparisons:  # |ρ| = 1: the same order or the reverse
        return None
    places = np.tile(np.arange(count, dtype=np.float64), (2, _ORDERS, 1))
    first, second = np.random.default_rng(0).permuted(places, axis=-1)
    # ρ is the covariance of the ranks divided by their variance; both are multiplied by `count`.
    sizes, times = np.unique(np.abs(first @ second.T - count * (count - 1) ** 2 / 4), return_counts=True)
    at_least = times[::-1].cumsum()[::-1]
    rare = (at_least + 3 * np.sqrt(at_least)) / times.sum() <= SIGNIFICANCE_LEVEL / comparisons
    return float(sizes[rare][0] / (count * (count**2 - 1) / 12)) if rare.any() else None


def rounded_up(bound: float) -> str:
    """Format a critical value with two decimals, rounded up: "0.40"."""
    return f"{ceil(100 * bound - _ROUNDING) / 100:.2f}"
