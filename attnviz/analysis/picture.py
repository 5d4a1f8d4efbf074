"""Weights and scores quantized to one byte per cell, so that all heads can be sent to the browser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.trace import Floats, Mask

Levels = NDArray[np.uint8]
Kind = Literal["sequential", "diverging"]
Scale = Literal["shared", "per head"]

HIGHEST = 254
ZERO = 127
MASKED = 255


@dataclass(frozen=True, eq=False)
class Picture:
    """Cells as bytes, for drawing only; printed numbers have full precision.

    Attributes:
        levels: uint8 [..., query, key], 0 to 254; 255 is masked.
        kind: "sequential" (level 0 is 0, level 254 is `high`) or "diverging" (127 is 0, 0 and 254 are −high
            and +high). In both, levels grow with the square root, so that weak links are visible, and
            the colours of changes and weights are comparable.
        high: float32 [...], value of level 254 for each head; all equal on a shared scale.
    """

    levels: Levels
    kind: Kind
    high: Floats


def sequential(weights: Floats, scale: Scale = "shared", mask: Mask | None = None) -> Picture:
    """Convert weights to levels, 254 · √(weight / high).

    Args:
        weights: [..., query, key], 0 to 1.
        scale: "shared" makes heads and sentences comparable: high is 1 for all;
            "per head" shows each head's own pattern: high is its largest weight.
        mask: Broadcast to [..., query, key]; True where not masked; None without a mask.
    """
    if scale == "shared":
        high = np.ones(weights.shape[:-2], dtype=np.float32)
    else:
        high = _positive(weights.max(axis=(-1, -2), initial=0.0))
    levels = np.empty(weights.shape, np.uint8)
    for place in np.ndindex(high.shape):  # one head at a time fits in the processor's cache
        cells = np.clip(weights[place] / high[place], 0, 1)
        np.sqrt(cells, out=cells)
        cells *= HIGHEST
        levels[place] = _rounded(cells)
    if mask is not None:
        np.copyto(levels, np.uint8(MASKED), where=~mask)
    return Picture(levels, "sequential", high)


def diverging(
    values: Floats, scale: Scale = "shared", mask: Mask | None = None, end: float | None = None
) -> Picture:
    """Convert signed numbers (changes, scores) to levels, 127 ± 127 · √(|value| / high).

    Args:
        values: [..., query, key]; −inf and NaN are masked.
        scale: Whether high is the largest absolute value of all heads ("shared") or of each ("per head").
        mask: Broadcast to [..., query, key]; True where not masked; None without a mask.
        end: Overrides high for all heads; None uses `scale`.
    """
    allowed = np.isfinite(values) if mask is None else np.isfinite(values) & mask
    high = _positive(np.abs(values).max(axis=(-1, -2), initial=0.0, where=allowed))
    if end is not None or scale == "shared":
        high = np.full_like(high, high.max(initial=0.0) if end is None else end)
    cells = np.divide(np.where(allowed, values, 0), high[..., None, None], dtype=np.float32)
    np.clip(cells, -1, 1, out=cells)
    cells = np.sign(cells) * np.sqrt(np.abs(cells))
    cells *= ZERO
    cells += ZERO
    levels = _rounded(cells)
    levels[~allowed] = MASKED
    return Picture(levels, "diverging", high)


def thumbnails(levels: Levels, kind: Kind, size: int = 32) -> Levels:
    """Downsample pictures to at most size × size pixels by max pooling, so that strong links stay visible.

    Each pixel is the strongest cell of its block: the highest level, or in a diverging picture the level
    farthest from 0 (the positive one in a tie). A pixel is masked only if all cells of its block are.

    Args:
        levels: [n, query, key].
        kind: "sequential" or "diverging".
        size: Maximum number of pixels per side.

    Returns:
        uint8 [n, min(query, size), min(key, size)].
    """
    # Bytes wrap around: 255 + 1 = 0 puts masked cells below every level during max pooling.
    highest = _pool(_pool(levels + np.uint8(1), np.maximum, size, 1), np.maximum, size, 2) - np.uint8(1)
    if kind == "sequential":
        return highest
    lowest = _pool(_pool(levels, np.minimum, size, 1), np.minimum, size, 2)
    negative = (lowest < ZERO) & (ZERO - lowest.astype(np.int16) > highest.astype(np.int16) - ZERO)
    return np.where(negative, lowest, highest)


def _positive(high: Floats) -> Floats:
    """Return the scale; 1 if all cells are 0, to avoid dividing by 0."""
    return np.where(high > 0, high, 1).astype(np.float32)


def _rounded(cells: Floats) -> Levels:
    return np.asarray(cells + np.float32(0.5), dtype=np.uint8)


def _pool(levels: Levels, strongest: np.ufunc, size: int, axis: int) -> Levels:
    """Return the strongest level of each of `size` nearly equal blocks along one axis."""
    length = levels.shape[axis]
    if length <= size:
        return levels
    edges = np.arange(size + 1) * length // size
    starts, last = edges[:-1], edges[1:] - 1
    pooled: Levels = levels.take(starts, axis=axis)
    for offset in range(1, int((last - starts).max()) + 1):
        strongest(pooled, levels.take(np.minimum(starts + offset, last), axis=axis), out=pooled)
    return pooled
