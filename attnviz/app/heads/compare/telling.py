"""What changed, in sentences with numbers."""

from __future__ import annotations

import numpy as np

from attnviz.analysis.aligned import Side
from attnviz.analysis.sentence import moves
from attnviz.app import markdown
from attnviz.app.heads.compare.compared import Aligned
from attnviz.text import percent, points
from attnviz.trace import Floats

_MIN_SHARE = 0.005  # a smaller share reads "0 %"
_NAMED = 5  # words that only one side has
_SIDES: tuple[tuple[Side, str], ...] = (("first", "gave"), ("second", "gives"))


def row_moves(grid: Aligned, first: Floats, second: Floats, row: int) -> str:
    """What one word gives elsewhere: "`it` gives `dog` **36 percentage points less** and `road` …".

    Args:
        grid: the aligned words.
        first, second: one head's weights on each side, [row, column]; NaN where there is none.
        row: of the grid, one that both sides have.
    """
    name = markdown.token(row, grid.queries)
    both = np.flatnonzero(np.isfinite(first[row]) & np.isfinite(second[row]))
    if not both.size:
        return f"Both sides have {name}, but no word that it may attend to in both."
    moved = moves((second - first)[:, both], row, grid.queries, [grid.keys[at] for at in both])
    parts = [
        f"{markdown.code(key)} **{points(change)} {'more' if change > 0 else 'less'}**"
        for key, change in filter(None, (moved.loss, moved.gain))
    ]
    shown = (
        f"{name} gives {' and '.join(parts)}."
        if parts
        else f"{name} gives no shared word half a percentage point more or less."
    )
    return f"{shown}{_to_words_of_one_side(grid, {'first': first, 'second': second}, row)}"


def _to_words_of_one_side(grid: Aligned, weights: dict[Side, Floats], row: int) -> str:
    parts = []
    for side, verb in _SIDES:
        alone = [
            at for at, place in enumerate(grid.columns) if not place.shared and place.of(side) is not None
        ]
        share = float(np.nansum(weights[side][row, alone]))
        if share >= _MIN_SHARE:
            words = ", ".join(markdown.code(grid.keys[at].label.split(" ", 1)[1]) for at in alone[:_NAMED])
            more = " …" if len(alone) > _NAMED else ""
            parts.append(
                f" It {verb} **{percent(share)}** to {words}{more}, which only the {side} has there."
            )
    return "".join(parts)
