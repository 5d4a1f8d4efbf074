"""Confidence intervals of shares and means, and a paired test."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from attnviz.trace import Counts, Doubles

CONFIDENCE = 0.95
"""Of the intervals that are shown."""

SIGNIFICANT = 1 - CONFIDENCE
"""Where a paired test's p value is smaller, two heads differ."""

MAX_DRAWS = 2_000
"""Samples of a bootstrap."""


def wilson(right: int, total: int) -> tuple[float, float]:
    """Wilson's score interval for a share (Wilson 1927, “Probable inference, the law of succession”).

    All shares p that a test would not reject: |right/total − p| ≤ z·√(p(1 − p)/total), which is

        (p̂ + z²/2n ± z·√(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n).

    Unlike p̂ ± z·√(p̂(1 − p̂)/n) it stays between 0 and 1, and is right for few answers too.

    Args:
        right: how many answers are right.
        total: of how many, each independent of the others.

    Returns:
        Its ends, 0 to 1; (0, 1) without answers. It contains the true share with probability `CONFIDENCE`.

    Raises:
        ValueError: `right` is not between 0 and `total`.
    """
    if not 0 <= right <= total:
        raise ValueError(f"{right} right answers of {total}.")
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = right / total
    middle = share + z * z / (2 * total)
    reach = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    low, high = ((middle + sign * reach) / (1 + z * z / total) for sign in (-1, 1))
    return (0.0 if right == 0 else low), (1.0 if right == total else high)


MIN_FOR_MEAN = 30
"""Of fewer numbers the interval of a mean is not given: it rests on the central limit theorem."""


def of_mean(mean: float, variance: float, count: int) -> tuple[float, float]:
    """Return the confidence interval of a mean: mean ± z·√(variance/(n − 1)).

    Args:
        mean: of the numbers.
        variance: of the numbers, over n.
        count: how many, n, each independent of the others.

    Returns:
        Its ends; NaN of fewer than `MIN_FOR_MEAN` numbers.
    """
    if count < MIN_FOR_MEAN:
        return math.nan, math.nan
    reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(variance / (count - 1))
    return mean - reach, mean + reach


def bootstrapped(counts: Counts, totals: Doubles) -> tuple[Doubles, Doubles]:
    """Return the confidence interval of a share by a bootstrap over examples (Efron 1979).

    Items of one example are not independent, so whole examples are drawn again. Where every draw has the same
    share, as where all items are right, it is Wilson's interval over the examples.

    Args:
        counts: [example, layer], items of each.
        totals: [example, layer, head], those that are right.

    Returns:
        Its ends, two float64 [layer, head].
    """
    examples, layers, heads = totals.shape
    draws = np.random.default_rng(0).multinomial(examples, np.full(examples, 1 / examples), MAX_DRAWS)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.tensordot(draws, totals, 1) / (draws @ counts)[..., None]
    tails = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(shares.reshape(MAX_DRAWS, -1), (tails, 1 - tails), axis=0)
    for at in np.flatnonzero(low == high):
        low[at], high[at] = wilson(round(low[at] * examples), examples)
    return low.reshape(layers, heads), high.reshape(layers, heads)


def sign_test(more: int, fewer: int) -> float:
    """Return the p value of the exact two-sided sign test; of right and wrong pairs it is McNemar's.

    Args:
        more, fewer: how many examples favour either side; the others do not count.
    """
    total = more + fewer
    tail = sum(math.comb(total, each) for each in range(min(more, fewer) + 1))
    p_value: float = min(1.0, 2 * tail / 2**total)
    return p_value
