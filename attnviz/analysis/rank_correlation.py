"""Spearman's rank correlation of two measures, and how large it becomes by chance."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from attnviz.trace import Counts, Doubles

SELDOM = 0.05
"""The significance level."""

_ALL = 12  # of so many values all orders are counted
_ORDERS = 1_000  # of more values, each of so many drawn orders is compared with each of so many others
_ROUNDING = 1e-6


def ranks(values: ArrayLike) -> Doubles:
    """The rank of each value, 1 for the largest; equal values share the mean of their ranks."""
    numbers = np.asarray(values, dtype=np.float64)
    larger = (numbers[None, :] > numbers[:, None]).sum(axis=1)
    equal = (numbers[None, :] == numbers[:, None]).sum(axis=1)
    shared: Doubles = larger + (equal + 1) / 2
    return shared


def rank_correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Spearman's ρ: the correlation of the ranks (Spearman 1904), with shared ranks where values are equal.

    Returns:
        −1 (one order is the other's reverse) to 1 (the same); NaN where one has no order: fewer than two
        values, or all of them equal.
    """
    return correlation_of_ranks(ranks(one), ranks(other))


def correlation_of_ranks(one: Doubles, other: Doubles) -> float:
    """The same of what is ranked already: `ranks` takes longer than the rest."""
    if len(one) < 2:
        return float("nan")
    first, second = one - one.mean(), other - other.mean()
    size = np.sqrt((first**2).sum() * (second**2).sum())
    return float((first * second).sum() / size) if size else float("nan")


def critical_value(count: int, comparisons: int = 1) -> float | None:
    """The smallest |ρ| of unrelated orders with p ≤ 5 % for any of several comparisons (Bonferroni).

    Of 12 values or fewer, all orders are counted. Of more, a million pairs of orders are sampled with a fixed
    seed, and three standard errors are added to each frequency.

    Args:
        count: how many values are ordered, none of them equal.
        comparisons: how many orders are compared with one.

    Returns:
        The bound, 0 to 1; None if even the same order is too frequent: for 4 values or fewer, at least.
    """
    bounds, frequencies = _seldom(count)
    first = int((frequencies > SELDOM / comparisons).sum())
    return float(bounds[first]) if first < len(bounds) else None


def rounded_up(bound: float) -> str:
    """A critical value with two decimals, rounded up: "0.40"."""
    return f"{ceil(100 * bound - _ROUNDING) / 100:.2f}"


@lru_cache(maxsize=64)
def _seldom(count: int) -> tuple[Doubles, Doubles]:
    """Each |ρ| that chance reaches seldom, rising, and how often it does."""
    sums, orders = _counted(count) if count <= _ALL else _drawn(count)
    # ρ is the covariance of the ranks over their variance; times `count`, they are these.
    far, which = np.unique(np.abs(sums - count * (count - 1) ** 2 / 4), return_inverse=True)
    reach = np.bincount(which, weights=orders)[::-1].cumsum()[::-1]
    frequencies = (reach if count <= _ALL else reach + 3 * np.sqrt(reach)) / orders.sum()
    seldom = frequencies <= SELDOM
    return far[seldom] / (count * (count**2 - 1) / 12), frequencies[seldom]


def _counted(count: int) -> tuple[Counts, Counts]:
    """Every Σ place · rank that an order can have, both from 0, and how many orders have it."""
    places = np.arange(count)
    none = np.zeros(1 + (places**2).sum(), dtype=np.int64)
    nothing = none.copy()
    nothing[0] = 1
    # After each place, how many orders so far have each sum, by the set of ranks that they have given away.
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
    """The same of pairs of orders that are drawn.

    Pairs that share an order are still independent, two and two, so that a frequency varies as much as if
    each pair were drawn by itself.
    """
    places = np.tile(np.arange(count, dtype=np.float64), (2, _ORDERS, 1))
    some, others = np.random.default_rng(0).permuted(places, axis=-1)
    return np.unique(some @ others.T, return_counts=True)
