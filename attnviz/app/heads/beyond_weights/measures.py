"""Several measures of the same tokens: each row has a scale of its own, and each cell its rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from attnviz.app.components.component import widget

Standing = Literal["counted", "itself", "aside", "unseen"]
"""A token is ranked, or it is the chosen one, is shown without a rank, or out of the chosen one’s sight."""


@dataclass(frozen=True)
class Column:
    """One token, and the longer name of it that a pointer is told; `on_token` is called with its place."""

    label: str
    title: str
    standing: Standing
    place: int


@dataclass(frozen=True)
class Line:
    """One measure.

    Attributes:
        key: what `on_measure` is called with.
        label: what it is called here ("Weights of head 4-2").
        agreement: what stands beside it ("0.48 to 0.61").
        band: from where to where that goes, −1 to 1; None for nothing.
        yardstick: whether it is one of those that the others are compared with.
        values, written: [column], 0 or more, and as a person reads them.
        ranks: [column], 1 for the largest; 0: not ranked.
    """

    key: str
    label: str
    agreement: str
    band: tuple[float, float] | None
    yardstick: bool
    values: ArrayLike
    written: Sequence[str]
    ranks: ArrayLike


@widget
def measures(
    name: str,
    lines: Sequence[Line],
    columns: Sequence[Column],
    /,
    *,
    title: str,
    agreement: str,
    chosen: str,
    on_measure: Callable[[str], None],
    on_token: Callable[[int], None],
) -> None:
    """Draws the rows, the yardstick first, coloured from 0 to the row's largest value among ranked tokens.

    Args:
        title: what the table shows, for those who do not see it.
        agreement: what stands above the agreements.
        chosen: the key of the row to mark.
        on_measure, on_token: called with the key of a row, or the place of a token, that was clicked.
    """
