"""Spearman's rank correlation of two measures, and its critical value."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from attnviz.trace import Counts, Doubles

SELDOM = 0.05
"""The significance level."""

_ALL = 12  # up to this number of values, all orders are counted
_ORDERS = 1_000  # above it, each of these sampled orders is compared with each of as many others
_ROUNDING = 1e-6


def ranks(values: ArrayLike) -> Doubles:
    """Return the rank of each value, 1 for the largest; ties have the mean of their ranks."""
    numbers = np.asarray(values, dtype=np.float64)
    larger = (numbers[None, :] > numbers[:, None]).sum(axis=1)
    equal = (numbers[None, :] == numbers[:, None]).sum(axis=1)
    shared: Doubles = larger + (equal + 1) / 2
    return shared


def rank_correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Return Spearman's ρ, the correlation of the ranks (Spearman 1904), with mean ranks for ties.

    Returns:
        −1 (reverse order) to 1 (same order); NaN for fewer than two values, or if all values are equal.
    """
    return correlation_of_ranks(ranks(one), ranks(other))


def correlation_of_ranks(one: Doubles, other: Doubles) -> float:
    """Return Spearman's ρ of precomputed ranks, which are the slow part."""
    if len(one) < 2:
        return float("nan")
    first, second = one - one.mean(), other - other.mean()
    size = np.sqrt((first**2).sum() * (second**2).sum())
    return float((first * second).sum() / size) if size else float("nan")


def critical_value(count: int, comparisons: int = 1) -> float | None:
    """Return the critical value of |ρ| at p ≤ 5 % for any of several comparisons (Bonferroni).

    For 12 values or fewer, all orders are counted. For more, a million pairs of orders are sampled with a
    fixed seed, and three standard errors are added to each frequency.

    Args:
        count: Number of values, without ties.
        comparisons: Number of comparisons.

    Returns:
        The critical value, 0 to 1; None if there are too few values, always for 4 or fewer.
    """
    bounds, frequencies = _seldom(count)
    first = int((frequencies > SELDOM / comparisons).sum())
    return float(bounds[first]) if first < len(bounds) else None


def rounded_up(bound: float) -> str:
    """Format a critical value with two decimals, rounded up: "0.40"."""
    return f"{ceil(100 * bound - _ROUNDING) / 100:.2f}"


@lru_cache(maxsize=64)
def _seldom(count: int) -> tuple[Doubles, Doubles]:
    """Return each |ρ| with p ≤ 5 %, ascending, and its p value."""
    sums, orders = _counted(count) if count <= _ALL else _drawn(count)
    # ρ is the covariance of the ranks divided by their variance; both are multiplied by `count`.
    far, which = np.unique(np.abs(sums - count * (count - 1) ** 2 / 4), return_inverse=True)
    reach = np.bincount(which, weights=orders)[::-1].cumsum()[::-1]
    frequencies = (reach if count <= _ALL else reach + 3 * np.sqrt(reach)) / orders.sum()
    seldom = frequencies <= SELDOM
    return far[seldom] / (count * (count**2 - 1) / 12), frequencies[seldom]


def _counted(count: int) -> tuple[Counts, Counts]:
    """Return every possible Σ place · rank, both from 0, and the number of orders with it."""
    places = np.arange(count)
    none = np.zeros(1 + (places**2).sum(), dtype=np.int64)
    nothing = none.copy()
    nothing[0] = 1
    # The number of partial orders with each sum, by the set of ranks that they have used.
    given = {frozenset[int](): nothing}
    for place in range(count):
        more: dict[frozenset[int], Counts] = {}
        for ranked, orders in given.items():
            for rank in set(range(count)) - ranked:
                sums = more.setdefault(ranked | {rank}, none.copy())
                sums[place * rank :] += orders[: len(none) - place * rank]
        given = more
    [orders] = given.values()
    sums = np.flatnonzero(orders)
    return sums, orders[sums]


def _drawn(count: int) -> tuple[Doubles, Counts]:
    """Return the same for sampled pairs of orders.

    Pairs that share an order are pairwise independent, so frequencies have the same variance as with
    independent pairs.
    """
    places = np.tile(np.arange(count, dtype=np.float64), (2, _ORDERS, 1))
    some, others = np.random.default_rng(0).permuted(places, axis=-1)
    return np.unique(some @ others.T, return_counts=True)
