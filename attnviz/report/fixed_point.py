"""Weights as 24-bit numbers: small enough to mail, and printed they read like the model's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.trace import Floats, Mask

Codes = NDArray[np.uint32]
Indices = tuple[int, ...]

ONE = 2**24 - 2
"""The code of the weight 1."""

MASKED = 2**24 - 1
"""The code of a cell that the mask forbids."""

PRINTED = (100, 1000)
"""A share is printed in whole percent and in tenths of a percent."""


class Rescaled(NamedTuple):
    """Another way in which the same weights are shown: some rows and columns, each row divided by a number.

    Attributes:
        queries, keys: the rows and the columns.
        divisors: [head, shown query], what the browser divides by.
        weights: [head, shown query, shown key], what it must print.
    """

    queries: Indices
    keys: Indices
    divisors: Floats
    weights: Floats


def codes(weights: Floats, mask: Mask, others: Iterable[Rescaled] = ()) -> Codes:
    """Each weight as round(weight · ONE), or its other neighbour where only that one prints the same digits.

    A code is less than 1/ONE from the weight. A printed number changes only where it is rounded from half
    way between two, so one of the two codes around a weight prints as the weight itself does.

    Args:
        weights: [head, query, key], the model's.
        mask: [query, key], True where a query may look.
        others: the other ways in which they are shown; in these, too, the digits agree.

    Returns:
        uint32 [head, query, key], 0 to `ONE`, or `MASKED`.
    """
    exact = weights.astype(np.float64) * ONE
    nearest = np.rint(exact)
    other = np.where(nearest > exact, nearest - 1, nearest + 1)
    wrong = _differs(nearest / ONE, weights)
    for view in others:
        cells = np.s_[:, np.array(view.queries)[:, None], np.array(view.keys)]
        wrong[cells] |= _differs(nearest[cells] / ONE / view.divisors[..., None], view.weights)
    found = np.where(wrong, other, nearest).astype(np.uint32)
    found[:, ~mask] = MASKED
    return found


def planes(every: Codes) -> bytes:
    """All lowest bytes, then all middle, then all highest ones: alike beside alike packs best."""
    return every.astype("<u4").reshape(-1, 1).view(np.uint8)[:, :3].T.tobytes()


def printed(share: NDArray[np.floating], parts: int) -> NDArray[np.int64]:
    """How many hundredths (`parts` = 100) or thousandths a share is printed as; a half is rounded up."""
    return np.floor(share.astype(np.float64) * parts + 0.5).astype(np.int64)


def _differs(one: NDArray[np.floating], other: NDArray[np.floating]) -> Mask:
    differs = np.zeros(one.shape, dtype=np.bool_)
    for parts in PRINTED:
        differs |= printed(one, parts) != printed(other, parts)
    return differs
