"""Confidence intervals of proportions and means."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from attnviz.trace import Counts, Doubles

CONFIDENCE = 0.95
"""Confidence level of all intervals."""

BOOTSTRAP_SAMPLES = 2_000
"""Number of bootstrap samples."""


def wilson(right: int, total: int) -> tuple[float, float]:
    """Return Wilson's score interval for a proportion (Wilson 1927, “Probable inference …”).

    It contains all proportions p that a z-test would not reject, |p̂ − p| ≤ z·√(p(1 − p)/n). Its ends are

        (p̂ + z²/2n ± z·√(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n).

    Unlike p̂ ± z·√(p̂(1 − p̂)/n), it stays between 0 and 1 and is accurate for small n.

    Args:
        right: Number of correct answers.
        total: Number of independent answers.

    Returns:
        The ends, from 0 to 1; (0, 1) if `total` is 0. The confidence level is `CONFIDENCE`.

    Raises:
        ValueError: `right` is not between 0 and `total`.
    """
    if not 0 <= right <= total:
        raise ValueError(f"The number of correct answers must be from 0 to {total}, not {right}.")
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = right / total
    centre = share + z * z / (2 * total)
    margin = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    low, high = ((centre + sign * margin) / (1 + z * z / total) for sign in (-1, 1))
    return (0.0 if right == 0 else low), (1.0 if right == total else high)


MIN_FOR_MEAN = 30
"""Minimum sample size for the interval of a mean, which relies on the central limit theorem."""


def mean_interval(mean: float, variance: float, count: int) -> tuple[float, float]:
    """Return the confidence interval of a mean: mean ± z·√(variance/(n − 1)).

    Args:
        mean: Mean of the numbers.
        variance: Variance of the numbers, with divisor n.
        count: Sample size n; the numbers must be independent.

    Returns:
        The ends; NaN for fewer than `MIN_FOR_MEAN` numbers.
    """
    if count < MIN_FOR_MEAN:
        return math.nan, math.nan
    margin = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(variance / (count - 1))
    return mean - margin, mean + margin


def bootstrap_interval(counts: Counts, correct: Doubles) -> tuple[Doubles, Doubles]:
    """Return the confidence interval of each head's proportion by a bootstrap over examples (Efron 1979).

    Items of one example are not independent, so complete examples are resampled. If the two ends are
    equal, for example because all items are correct, Wilson's interval over the examples is returned.

    Args:
        counts: [example, layer], numbers of items.
        correct: [example, layer, head], numbers of correct items.

    Returns:
        The lower and the upper ends, each float64 [layer, head].
    """
    examples, layers, heads = correct.shape
    draws = np.random.default_rng(0).multinomial(examples, np.full(examples, 1 / examples), BOOTSTRAP_SAMPLES)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.tensordot(draws, correct, 1) / (draws @ counts)[..., None]
    tails = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(shares.reshape(BOOTSTRAP_SAMPLES, -1), (tails, 1 - tails), axis=0)
    for at in np.flatnonzero(low == high):
        low[at], high[at] = wilson(round(low[at] * examples), examples)
    return low.reshape(layers, heads), high.reshape(layers, heads)
