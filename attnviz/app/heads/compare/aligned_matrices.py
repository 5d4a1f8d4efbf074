"""Two heads' weights and their difference side by side: the same word has the same place in all three."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

from attnviz.app.components.component import widget
from attnviz.widgets.tokens import ShownToken


class Picture(TypedDict):
    """One of the three matrices.

    "sequential" (levels 0 to 254 = 0 to `high`) or "diverging" (127 = zero, 0 and 254 = −high and high); both
    grow with the square root, and 255 is hatched.
    """

    title: str
    kind: Literal["sequential", "diverging"]
    high: float


class Row(ShownToken):
    """A row or a column.

    Attributes:
        only: the one text that has this word, "first" or "second", or "".
        aside: a note on a row's numbers; mostly "".
    """

    only: str
    aside: str


@widget
def aligned_matrices(
    key: str,
    /,
    *,
    pixels: str,
    pictures: Sequence[Picture],
    sides: tuple[str, str],
    rows: Sequence[Row],
    columns: Sequence[Row],
    row: int | None,
    note: str,
    caption: str,
    filename: str,
    on_pick: Callable[[int], None] | None = None,
) -> None:
    """Draws the matrices; a cell pointed at in one is ringed in all, and its numbers are shown below.

    Where there is no room for them side by side, one is shown at a time, each in the place of the others.

    Args:
        pixels: what `store.publish` returned for the arrays `levels`, uint8 [3, row, column], and `values`,
            float32 [3, row, column]: first, second, and second − first; NaN where there is no number.
        sides: what sentences call the first and the second: ("first sentence", "second sentence").
        rows, columns: the aligned words.
        row: the marked row; None for none.
        note: what the colours mean, below the pictures.
        caption: what the pictures show, for the saved files, of which `filename` has no ending.
        on_pick: called with a row when the visitor clicks one of its cells.
    """
