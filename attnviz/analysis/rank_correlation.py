"""Whether two measures put the words into the same order."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ORDERS = 20_000  # by chance, to see how far chance alone goes


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """The rank of each value, 1 for the largest; equal values share the mean of their ranks."""
    numbers = np.asarray(values, dtype=np.float64)
    larger = (numbers[None, :] > numbers[:, None]).sum(axis=1)
    equal = (numbers[None, :] == numbers[:, None]).sum(axis=1)
    shared: NDArray[np.float64] = larger + (equal + 1) / 2
    return shared


def rank_correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Spearman's ρ: the correlation of the ranks (Spearman 1904), with shared ranks where values are equal.

    Returns:
        −1 (one order is the other's reverse) to 1 (the same); NaN where one has no order: fewer than two
        values, or all of them equal.
    """
    first, second = ranks(one), ranks(other)
    if len(first) < 2:
        return float("nan")
    first, second = first - first.mean(), second - second.mean()
    size = np.sqrt((first**2).sum() * (second**2).sum())
    return float((first * second).sum() / size) if size else float("nan")


@cache
def by_chance(count: int) -> float:
    """The |ρ| that two orders of so many values, drawn by chance, reach once in twenty times.

    From a fixed series of random orders, so that it is the same number every time.
    """
    random = np.random.default_rng(0)
    orders = random.permuted(np.tile(np.arange(count), (_ORDERS, 1)), axis=1)
    apart = ((orders - np.arange(count)) ** 2).sum(axis=1)
    found = 1 - 6 * apart / (count * (count**2 - 1))
    return float(np.quantile(np.abs(found), 0.95))
