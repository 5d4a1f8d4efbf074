"""Confidence intervals of shares and means, and how probable as many right answers are by chance."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from attnviz.trace import Doubles

CONFIDENCE = 0.95
"""Of the intervals that are shown."""


def wilson(right: int, total: int) -> tuple[float, float]:
    """Wilson's score interval for a share (Wilson 1927, “Probable inference, the law of succession”).

    All shares p that a test would not reject: |right/total − p| ≤ z·√(p(1 − p)/total), which is

        (p̂ + z²/2n ± z·√(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n).

    Unlike p̂ ± z·√(p̂(1 − p̂)/n) it stays between 0 and 1, and is right for few answers too.

    Args:
        right: how many answers are right.
        total: of how many, each independent of the others.

    Returns:
        Its ends, 0 to 1; (0, 1) of no answers at all. It holds the true share as often as `CONFIDENCE` says.

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


def _logarithms(total: int, chance: float) -> Doubles:
    """The logarithms of P(X = k), [k]: the powers of many questions are too small for a number."""
    some = math.lgamma(total + 1)
    return np.array(
        [
            some
            - math.lgamma(right + 1)
            - math.lgamma(total - right + 1)
            + right * math.log(chance)
            + (total - right) * math.log1p(-chance)
            for right in range(total + 1)
        ]
    )
