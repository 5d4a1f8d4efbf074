"""Weights as 24-bit numbers: small enough to mail, and printed they read like the model's own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.trace import Counts, Floats, Mask

Codes = NDArray[np.uint32]

ONE = 2**24 - 2
"""The code of the weight 1."""

MASKED = 2**24 - 1
"""The code of a cell that the mask forbids."""

PRINTED = (100, 1000)
"""A share is printed in whole percent and in tenths of a percent."""


def codes(weights: Floats, mask: Mask) -> Codes:
    """Each weight as round(weight · ONE), or its other neighbour where only that one prints the same digits.

    A code is less than 1/ONE from the weight. A printed number changes only where it is rounded from half
    way between two, so one of the two codes around a weight prints as the weight itself does.

    Args:
        weights: [..., query, key]: the model's, or such as a picture makes of them.
        mask: True where a query may look; of the same shape, or [query, key] for all.

    Returns:
        uint32 [..., query, key], 0 to `ONE`, or `MASKED`.
    """
    exact = weights.astype(np.float64) * ONE
    nearest = np.rint(exact)
    other = np.where(nearest > exact, nearest - 1, nearest + 1)
    found = np.where(_differs(nearest / ONE, weights), other, nearest).astype(np.uint32)
    found[~np.broadcast_to(mask, found.shape)] = MASKED
    return found


def lost(kept: Codes, left: Floats, weights: Floats) -> Mask:
    """The rows that cannot be rescaled from their codes: another digit than their own would be printed.

    Dividing by what is left of a row makes the rounding of its codes larger, of a millionth a million times.

    Args:
        kept: [..., query, key], the codes of what is left of each row.
        left: [..., query], what its rest is divided by.
        weights: [..., query, key], what must be printed.

    Returns:
        [..., query], True where the row needs codes of its own.
    """
    shares = kept / ONE / np.where(left > 0, left, 1)[..., None].astype(np.float64)
    wrong = _differs(np.minimum(shares, 2), weights)  # any share above 1 is wrong, however large
    return np.asarray((wrong & (kept != MASKED)).any(axis=-1))


def planes(every: Codes) -> bytes:
    """All lowest bytes, then all middle, then all highest ones: alike beside alike packs best."""
    return every.astype("<u4").reshape(-1, 1).view(np.uint8)[:, :3].T.tobytes()


def printed(share: NDArray[np.floating], parts: int) -> Counts:
    """How many hundredths (`parts` = 100) or thousandths a share is printed as; a half is rounded up."""
    return np.floor(share.astype(np.float64) * parts + 0.5).astype(np.int64)


def _differs(one: NDArray[np.floating], other: NDArray[np.floating]) -> Mask:
    # What is not 0 is never printed as 0, nor what is not all as 100 %.
    differs = np.asarray(((one > 0) != (other > 0)) | ((one < 1) != (other < 1)), dtype=np.bool_)
    for parts in PRINTED:
        differs |= printed(one, parts) != printed(other, parts)
    return differs
