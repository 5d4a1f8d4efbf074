"""What a figure shows first, as a drawing: made of the same weights as the figure itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from attnviz.analysis.display_tokens import faint, left_share, only, shown_weights
from attnviz.analysis.picture import HIGHEST, MASKED, Levels, sequential, thumbnails
from attnviz.export.report.contents import ways
from attnviz.export.report.drawing import Cells, Drawing, Line, Text
from attnviz.export.report.page import InitialView, Theme
from attnviz.text import percent
from attnviz.trace import Floats, Kind, Trace

MAX_LINES = 300
MIN_LINE = 0.01
"""The strongest weights of a head, from 1 % on; more would be a cloud, and a large file."""

# In pixels of the picture.
_WIDTH = 640
_EDGE = 16
_TOP = 76  # below the title and the names of the axes
_LEFT, _RIGHT = 190, 450  # where lines begin and end
_MIN_ROW, _MAX_ROW = 12, 26  # smaller rows have no names
_MAX_SIDE = 2400  # of all rows together
_MAX_NAME = 18  # characters
_BAR = 84  # of the colour bar with its numbers
_TICKS = (0, 0.01, 0.1, 0.25, 0.5, 1)

Shapes = list[Line | Cells | Text]


def still(
    trace: Trace, kind: Kind, opening: InitialView, title: str, *, atlas: bool, theme: Theme
) -> Drawing:
    """Return what a figure shows first.

    Args:
        title: what is written above it.
        atlas: all heads in small, in place of the one.
        theme: its colours.
    """
    every = ways(trace, kind)
    way = every.get("hidden" if opening.hide_special else "plain", every["plain"])
    blocks = trace.of_kind(kind) if atlas else (trace.block(kind, opening.layer),)
    stack = np.stack([block.weights for block in blocks])
    allowed = np.stack([only(block.mask, way[0].visible, way[-1].visible) for block in blocks])[:, None]
    shares = shown_weights(stack, *way)
    drawn = faint(shares, left_share(stack, *way))
    levels = sequential(drawn, mask=allowed).levels
    queries, keys = way[0].labels, way[-1].labels
    if atlas:
        shapes, width, height = _atlas(levels, [f"L{block.layer + 1}" for block in blocks])
    elif opening.view == "matrix":
        shapes, width, height = _matrix(levels[0, opening.head], queries, keys)
    else:
        query = None if opening.query is None else way[0].index_of(opening.query)
        numbers = None if query is None else shares[0, opening.head, query]
        shapes, width, height = _lines(drawn[0, opening.head], queries, keys, query, numbers)
    return Drawing(width, height, [Text(title, _EDGE, 26, size=16, bold=True), *shapes], theme)


def _lines(
    weights: Floats, queries: Sequence[str], keys: Sequence[str], query: int | None, numbers: Floats | None
) -> tuple[Shapes, float, float]:
    """Curves from query to key."""
    row = _row(max(weights.shape))
    followed = np.ones(len(weights), np.bool_) if query is None else np.arange(len(weights)) == query
    wanted = np.where(followed[:, None] & (weights >= MIN_LINE), weights, 0)
    strongest = np.argsort(wanted, axis=None)[-MAX_LINES:]
    shapes: Shapes = [
        _line(_LEFT, _middle(i, row), _RIGHT, _middle(j, row), wanted[i, j])
        for i, j in zip(
            *np.unravel_index(strongest, weights.shape), strict=True
        )  # the strongest last, on top
        if wanted[i, j]
    ]
    shapes += _axis("query", _LEFT - 8, "end") + _axis("key", _RIGHT + 8, "start")
    for names, x, anchor in ((queries, _LEFT - 8, "end"), (keys, _RIGHT + 8, "start")):
        shapes += _names(names, x, row, "end" if anchor == "end" else "start")
    if numbers is not None:
        parts = [(at, float(share)) for at, share in enumerate(numbers) if share >= 0.005]
        shapes += [Text(percent(share), _WIDTH - _EDGE, _middle(at, row), "end") for at, share in parts]
    bottom = _TOP + row * max(weights.shape) + 28
    shapes.append(Text("weight", _LEFT - 8, bottom, "end", muted=True))
    for at, share in enumerate((0.1, 0.5, 1)):
        x = _LEFT + 90 * at
        shapes += [
            _line(x, bottom, x + 28, bottom, share),
            Text(percent(share), x + 34, bottom, muted=True),
        ]
    return shapes, _WIDTH, bottom + 24


def _matrix(levels: Levels, queries: Sequence[str], keys: Sequence[str]) -> tuple[Shapes, float, float]:
    """Rows are queries, columns keys."""
    cell = _row(max(levels.shape), min((_WIDTH - _LEFT - _BAR) / len(keys), _MAX_ROW + 4))
    top = _TOP + (0 if cell < _MIN_ROW else 8 + 8 * min(_MAX_NAME, max(map(len, keys))))
    wide, tall = cell * len(keys), cell * len(queries)
    shapes: Shapes = [Cells(_LEFT, top, wide, tall, levels)]
    shapes += _axis("query", _LEFT - 8, "end", top - 14) + _axis("key", _LEFT, "start")
    shapes += _names(queries, _LEFT - 8, cell, "end", top)
    if cell >= _MIN_ROW:
        size = min(13, cell - 1)
        for at, name in enumerate(keys):
            shapes.append(Text(_short(name), _LEFT + (at + 0.5) * cell, top - 8, size=size, upwards=True))
    shapes += _bar(_LEFT + wide + 20, top)
    height = max(top + tall, top + _BAR_HEIGHT) + _EDGE + 8
    return shapes, max(_WIDTH, _LEFT + wide + _BAR + _EDGE), height


def _atlas(levels: Levels, layers: Sequence[str]) -> tuple[Shapes, float, float]:
    """A row of small pictures for each layer, a column for each head; a pixel is free between two."""
    heads, left = levels.shape[1], 56
    small = thumbnails(levels.reshape(-1, *levels.shape[2:]), "sequential")
    apart = np.pad(small, ((0, 0), (0, 1), (0, 1)), constant_values=MASKED)
    rows, columns = apart.shape[1:]
    sheet = apart.reshape(len(layers), heads, rows, columns).swapaxes(1, 2).reshape(-1, heads * columns)
    cell = min(44, (_WIDTH - left - _BAR - _EDGE) / heads)
    shapes: Shapes = [Cells(left, _TOP, cell * heads, cell * len(layers), sheet)]
    shapes += _axis("head", left, "start", _TOP - 26)
    size = min(13, cell - 2)
    shapes += [Text(name, left - 8, _TOP + (at + 0.5) * cell, "end", size) for at, name in enumerate(layers)]
    shapes += [Text(str(at + 1), left + (at + 0.5) * cell, _TOP - 10, "middle", size) for at in range(heads)]
    shapes += _bar(left + cell * heads + 20, _TOP)
    return shapes, _WIDTH, _TOP + max(cell * len(layers), _BAR_HEIGHT) + _EDGE


_BAR_HEIGHT = 140


def _bar(x: float, y: float) -> Shapes:
    """The colour bar: levels grow with the square root of the weight."""
    levels = np.linspace(HIGHEST, 0, _BAR_HEIGHT).astype(np.uint8)[:, None]
    ticks = [Text(percent(tick), x + 20, y + _BAR_HEIGHT * (1 - tick**0.5), muted=True) for tick in _TICKS]
    return [Cells(x, y, 12, _BAR_HEIGHT, levels), *ticks, *_axis("weight", x, "start", y - 16)]


def _line(x: float, y: float, end_x: float, end_y: float, weight: float) -> Line:
    return Line(x, y, end_x, end_y, float(weight) ** 0.7)


def _row(count: int, largest: float = _MAX_ROW) -> float:
    return min(max(_MIN_ROW, min(largest, 480 / count)), _MAX_SIDE / count)


def _middle(at: int, row: float) -> float:
    return float(round(_TOP + (at + 0.5) * row, 1))


def _axis(name: str, x: float, anchor: Literal["start", "end"], y: float = _TOP - 16) -> Shapes:
    return [Text(name, x, y, anchor, muted=True)]


def _names(
    names: Sequence[str], x: float, row: float, anchor: Literal["start", "end"], top: float = _TOP
) -> Shapes:
    """The names of rows, where there is room."""
    size = min(13, row - 1)
    return [
        Text(_short(name), x, round(top + (at + 0.5) * row, 1), anchor, size)
        for at, name in enumerate(names)
        if row >= _MIN_ROW
    ]


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
