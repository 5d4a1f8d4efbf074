"""A window on a long text: its position, its cells or blocks of cells, and the search for a token.

`attnviz/widgets/window.js` computes the same windows and blocks in reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import numpy as np

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.trace import Block, Floats

MAX_CELLS = 128
"""The maximum number of cells or blocks per side; shorter texts are shown completely."""

MIN_SPAN = 16
"""The minimum number of tokens per side."""

THRESHOLDS = (0.0, 0.001, 0.01, 0.05, 0.1)
"""The thresholds below which weights can be hidden."""

TILE = 2**22
"""The number of weights read at a time."""

LINE_RADIUS = 12
"""Lines start from the chosen token and from this many tokens before and after it."""

NUM_TOP_KEYS = 16
"""Lines are also drawn to this many of the chosen token's strongest keys, at any distance."""


@dataclass(frozen=True, slots=True)
class Window:
    """A square part of a matrix.

    Attributes:
        row, column: The first row and column.
        span: The number of rows and of columns.
    """

    row: int
    column: int
    span: int

    @property
    def block(self) -> int:
        """The number of rows and columns per displayed cell."""
        return max(1, ceil(self.span / MAX_CELLS))

    def fitted(self, queries: int, keys: int) -> Window:
        """Return the nearest window that overlaps the text; its span is at most the longer side."""
        span = min(max(self.span, MIN_SPAN), max(queries, keys))
        row, column = (
            max(0, min(first, count - span)) for first, count in ((self.row, queries), (self.column, keys))
        )
        return Window(row, column, span)

    def centred(self, row: int, column: int) -> Window:
        """Return a window of the same span, centred on a cell."""
        return Window(row - self.span // 2, column - self.span // 2, self.span)

    def ranges(self, queries: int, keys: int) -> tuple[range, range]:
        """Return the window's rows and columns, clipped to the text."""
        row, column = range(queries), range(keys)
        return row[self.row : self.row + self.span], column[self.column : self.column + self.span]


def whole_window(queries: int, keys: int) -> Window:
    """Return the window that contains the complete text."""
    return Window(0, 0, max(queries, keys))


def strongest_values(values: Floats, size: int) -> Floats:
    """Return the number farthest from 0 in each block of `size` × `size` tokens; NaN where all are NaN.

    Args:
        values: [..., query, key].

    Returns:
        [..., ⌈queries / size⌉, ⌈keys / size⌉].
    """
    if size == 1:
        return values
    highest, lowest = values, values
    for axis in (-1, -2):
        starts = np.arange(0, values.shape[axis], size)
        highest = np.fmax.reduceat(highest, starts, axis=axis)
        lowest = np.fmin.reduceat(lowest, starts, axis=axis)
    return np.where(-lowest > highest, lowest, highest)


def blocks(tokens: Sequence[DisplayToken], places: range, size: int) -> list[DisplayToken]:
    """Return a token for each block of `size` of these places, labelled by the block's first token."""
    if size == 1:
        return [tokens[place] for place in places]
    found = []
    for start in range(places.start, places.stop, size):
        first, last = tokens[start], tokens[min(start + size, places.stop) - 1]
        title = f"tokens {first.number}–{last.number}, from {first.label} to {last.label}"
        found.append(replace(first, label=f"{first.number} {first.label} …", title=title, special=False))
    return found


def line_places(row: int, top: Iterable[int], queries: int, keys: int) -> tuple[list[int], list[int]]:
    """Return the rows near the chosen row, and the columns that are near it or have its largest weights.

    Args:
        row: The chosen row.
        top: The columns of its largest weights.
    """
    near = range(row - LINE_RADIUS, row + LINE_RADIUS + 1)
    return [at for at in near if 0 <= at < queries], sorted({*near, *top} & {*range(keys)})


def find_token(tokens: Sequence[DisplayToken], text: str) -> list[int]:
    """Return the places of the tokens whose label contains this text, ignoring case."""
    search = text.strip().casefold()
    return [place for place, token in enumerate(tokens) if search and search in token.label.casefold()]


def next_match(places: Sequence[int], start: int, step: int) -> int | None:
    """Return the next place after `start` (`step` 1) or before it (−1), wrapping around, or None."""
    ordered = places if step > 0 else places[::-1]
    later = (place for place in ordered if (place - start) * step > 0)
    return next(later, ordered[0] if ordered else None)


def hidden_shares(weights: Floats) -> Floats:
    """Return the fraction of the total weight below each of `THRESHOLDS`; NaN counts as 0."""
    total, *below = _weights_below(weights)
    return np.array(below, dtype=np.float32) / (total or np.float32(1))


def _weights_below(weights: Floats) -> Floats:
    """Return the sum of all weights, and the sum of the weights below each threshold."""
    present = np.nan_to_num(weights)
    below = [present.sum(where=present < threshold) for threshold in THRESHOLDS]
    return np.array([present.sum(dtype=np.float64), *below], dtype=np.float32)


class Summary(NamedTuple):
    """An overview of a head in a long text: the largest weight of each block, and `hidden_shares`."""

    blocks: Floats
    hidden: Floats


def rows_of(block: Block, head: int, places: Sequence[int]) -> Floats:
    """Return a head's weights from some queries, [query, key]; NaN where masked."""
    return np.where(block.allowed(places), block.rows(head, places), np.float32(np.nan))


def summary(block: Block, head: int) -> Summary:
    """Return the overview of a head over the complete text, computed tile by tile."""
    _, queries, keys = block.shape
    size = whole_window(queries, keys).block
    step = size * max(1, TILE // (size * keys))
    blocks, sums = [], []
    for start in range(0, queries, step):
        rows = rows_of(block, head, range(start, min(start + step, queries)))
        blocks.append(strongest_values(rows, size))
        sums.append(_weights_below(rows))
    total, *below = np.sum(sums, axis=0)
    return Summary(np.concatenate(blocks), np.array(below, dtype=np.float32) / total)
