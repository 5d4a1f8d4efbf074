"""The initial state of a figure as a static drawing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np

from attnviz.analysis.display_tokens import faint
from attnviz.analysis.picture import HIGHEST, MASKED, Levels, diverging, sequential, thumbnails
from attnviz.analysis.window import blocks as block_tokens
from attnviz.analysis.window import whole_window
from attnviz.export.report.drawing import Cells, Drawing, Line, Text
from attnviz.export.report.matrices import LargestWeights, Matrices
from attnviz.export.report.page import InitialView, Theme
from attnviz.text import percent, signed_percent
from attnviz.trace import Floats

MAX_LINES = 300
MIN_LINE = 0.01
"""Minimum weight of a drawn line; with more lines, the drawing would be illegible and its file large."""

# In pixels.
_WIDTH = 640
_EDGE = 16
_TOP = 76  # upper edge of the picture, below the title and the names of the axes
_LEFT, _RIGHT = 190, 450  # where lines start and end
_MIN_ROW, _MAX_ROW = 12, 26  # heights; below the minimum, rows have no labels
_MAX_SIDE = 2400  # maximum height of all rows together
_MAX_NAME = 18  # maximum number of characters of a label
_BAR = 84  # width of the colour bar with its numbers
_TICKS = (0, 0.01, 0.1, 0.25, 0.5, 1)

Shapes = list[Line | Cells | Text]


def still(data: Matrices, opening: InitialView, title: str, *, atlas: bool, theme: Theme) -> Drawing:
    """Draw the initial state of a figure.

    Args:
        data: Matrices of the figure.
        title: Title above the drawing.
        atlas: True for thumbnails of all heads, False for one head.
        theme: Colour theme.
    """
    views = data.token_views
    token_view = views.get("hidden" if opening.hide_special else "plain", views["plain"])
    at = data.layers.index(opening.layer + 1)
    values, mask = data.shown(token_view)
    if not atlas:
        values, mask = values[at, opening.head], mask[at, 0]
    left = np.ones(values.shape[:-1], np.float32) if token_view.left is None else token_view.left
    drawn = faint(values, left if atlas or token_view.left is None else left[at, opening.head])
    draw = partial(diverging, end=data.high) if data.signed else sequential
    levels = draw(drawn, mask=np.broadcast_to(mask, values.shape)).levels
    queries, keys = token_view.queries.labels, token_view.keys.labels
    if atlas:
        shapes, width, height = _atlas(levels, [f"L{layer}" for layer in data.layers], data.signed, data.high)
    elif opening.view == "matrix":
        shapes, width, height = _matrix(levels, queries, keys, data.signed, data.high)
    else:
        followed = [row for row in map(token_view.queries.index_of, opening.followed) if row is not None]
        numbers = values[followed].sum(axis=0) if followed else None
        shapes, width, height = _lines(drawn / data.high, queries, keys, followed, numbers, data.signed)
    return Drawing(width, height, [Text(title, _EDGE, 26, size=16, bold=True), *shapes], theme)


def still_of_long(data: LargestWeights, opening: InitialView, title: str, theme: Theme) -> Drawing:
    """Draw the initial state of a long text's figure: a matrix of blocks."""
    blocks = data.summaries[opening.head].blocks
    window = whole_window(len(data.queries), len(data.keys))
    mask = np.isfinite(blocks)
    queries, keys = (
        [token.label for token in block_tokens(side.groups, places, window.block)]
        for side, places in zip(
            (data.queries, data.keys), window.ranges(len(data.queries), len(data.keys)), strict=True
        )
    )
    levels = sequential(np.where(mask, blocks, 0), mask=mask).levels
    shapes, width, height = _matrix(levels, queries, keys, signed=False, high=1.0)
    return Drawing(width, height, [Text(title, _EDGE, 26, size=16, bold=True), *shapes], theme)


def _lines(
    weights: Floats,
    queries: Sequence[str],
    keys: Sequence[str],
    followed: Sequence[int],
    numbers: Floats | None,
    signed: bool,
) -> tuple[Shapes, float, float]:
    """Draw curves from queries to keys; return the shapes, the width and the height."""
    row = _row_height(max(weights.shape))
    drawn = np.where(np.abs(weights) >= MIN_LINE, weights, 0)
    if followed:
        drawn[np.setdiff1d(np.arange(len(weights)), followed)] = 0
    strongest = np.argsort(np.abs(drawn), axis=None)[-MAX_LINES:]  # the strongest is drawn last, on top
    shapes: Shapes = [
        _line(_LEFT, _middle(i, row), _RIGHT, _middle(j, row), drawn[i, j], signed)
        for i, j in zip(*np.unravel_index(strongest, weights.shape), strict=True)
        if drawn[i, j]
    ]
    shapes += _axis("query", _LEFT - 8, "end") + _axis("key", _RIGHT + 8, "start")
    for names, x, anchor in ((queries, _LEFT - 8, "end"), (keys, _RIGHT + 8, "start")):
        shapes += _names(names, x, row, "end" if anchor == "end" else "start")
    if numbers is not None:
        format_number = signed_percent if signed else percent
        shown = [(at, float(share)) for at, share in enumerate(numbers) if abs(share) >= 0.005]
        shapes += [Text(format_number(share), _WIDTH - _EDGE, _middle(at, row), "end") for at, share in shown]
    bottom = _TOP + row * max(weights.shape) + 28
    if signed:
        return shapes, _WIDTH, bottom
    shapes.append(Text("weight", _LEFT - 8, bottom, "end", muted=True))
    for at, share in enumerate((0.1, 0.5, 1)):
        x = _LEFT + 90 * at
        shapes += [
            _line(x, bottom, x + 28, bottom, share),
            Text(percent(share), x + 34, bottom, muted=True),
        ]
    return shapes, _WIDTH, bottom + 24


def _matrix(
    levels: Levels, queries: Sequence[str], keys: Sequence[str], signed: bool, high: float
) -> tuple[Shapes, float, float]:
    """Draw a matrix with queries as rows and keys as columns; return the shapes, the width and the height."""
    cell = _row_height(max(levels.shape), min((_WIDTH - _LEFT - _BAR) / len(keys), _MAX_ROW + 4))
    top = _TOP + (0 if cell < _MIN_ROW else 8 + 8 * min(_MAX_NAME, max(map(len, keys))))
    width, height = cell * len(keys), cell * len(queries)
    shapes: Shapes = [Cells(_LEFT, top, width, height, levels, signed)]
    shapes += _axis("query", _LEFT - 8, "end", top - 14) + _axis("key", _LEFT, "start")
    shapes += _names(queries, _LEFT - 8, cell, "end", top)
    if cell >= _MIN_ROW:
        size = min(13, cell - 1)
        for at, name in enumerate(keys):
            shapes.append(Text(_short(name), _LEFT + (at + 0.5) * cell, top - 8, size=size, upwards=True))
    shapes += _bar(_LEFT + width + 20, top, signed, high)
    bottom = max(top + height, top + _BAR_HEIGHT) + _EDGE + 8
    return shapes, max(_WIDTH, _LEFT + width + _BAR + _EDGE), bottom


def _atlas(levels: Levels, layers: Sequence[str], signed: bool, high: float) -> tuple[Shapes, float, float]:
    """Draw thumbnails, a row per layer and a column per head; return the shapes, the width and the height."""
    heads, left = levels.shape[1], 56
    pictures = thumbnails(levels.reshape(-1, *levels.shape[2:]), "diverging" if signed else "sequential")
    separated = np.pad(pictures, ((0, 0), (0, 1), (0, 1)), constant_values=MASKED)
    rows, columns = separated.shape[1:]
    sheet = separated.reshape(len(layers), heads, rows, columns).swapaxes(1, 2).reshape(-1, heads * columns)
    cell = min(44, (_WIDTH - left - _BAR - _EDGE) / heads)
    shapes: Shapes = [Cells(left, _TOP, cell * heads, cell * len(layers), sheet, signed)]
    shapes += _axis("head", left, "start", _TOP - 26)
    size = min(13, cell - 2)
    shapes += [Text(name, left - 8, _TOP + (at + 0.5) * cell, "end", size) for at, name in enumerate(layers)]
    shapes += [Text(str(at + 1), left + (at + 0.5) * cell, _TOP - 10, "middle", size) for at in range(heads)]
    shapes += _bar(left + cell * heads + 20, _TOP, signed, high)
    return shapes, _WIDTH, _TOP + max(cell * len(layers), _BAR_HEIGHT) + _EDGE


_BAR_HEIGHT = 140


def _bar(x: float, y: float, signed: bool, high: float) -> Shapes:
    """Return the colour bar, on a square-root scale."""
    levels = np.linspace(HIGHEST, 0, _BAR_HEIGHT).astype(np.uint8)[:, None]
    places = [(percent(tick), 1 - tick**0.5) for tick in _TICKS]
    if signed:
        places = [(signed_percent(part * high), (1 - part) / 2) for part in (1.0, 0.0, -1.0)]
    ticks = [Text(name, x + 20, y + _BAR_HEIGHT * place, muted=True) for name, place in places]
    name = "difference" if signed else "weight"
    return [Cells(x, y, 12, _BAR_HEIGHT, levels, signed), *ticks, *_axis(name, x, "start", y - 16)]


def _line(x: float, y: float, end_x: float, end_y: float, weight: float, signed: bool = False) -> Line:
    rises = bool(weight > 0) if signed else None
    return Line(x, y, end_x, end_y, float(abs(weight)) ** 0.7, rises)


def _row_height(count: int, largest: float = _MAX_ROW) -> float:
    return min(max(_MIN_ROW, min(largest, 480 / count)), _MAX_SIDE / count)


def _middle(at: int, row: float) -> float:
    return float(round(_TOP + (at + 0.5) * row, 1))


def _axis(name: str, x: float, anchor: Literal["start", "end"], y: float = _TOP - 16) -> Shapes:
    return [Text(name, x, y, anchor, muted=True)]


def _names(
    names: Sequence[str], x: float, row: float, anchor: Literal["start", "end"], top: float = _TOP
) -> Shapes:
    """Return the labels of rows; none if the rows are too small."""
    size = min(13, row - 1)
    return [
        Text(_short(name), x, round(top + (at + 0.5) * row, 1), anchor, size)
        for at, name in enumerate(names)
        if row >= _MIN_ROW
    ]


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
