"""Several measures of the same tokens: each row has a scale of its own, and each cell its rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from attnviz.app.components.head_map import head_map

Standing = Literal["counted", "itself", "aside", "unseen"]
"""A token is ranked, or it is the chosen one, is shown without a rank, or out of the chosen one’s sight."""


@dataclass(frozen=True)
class Column:
    """One token, and whether it is ranked."""

    label: str
    standing: Standing


@dataclass(frozen=True)
class Line:
    """One measure.

    Attributes:
        key: what `on_measure` is called with.
        label: what it is called here ("Weights of head 4-2").
        agreement: the text beside it ("0.48 to 0.61").
        values, written: [column], 0 or more, and as a person reads them.
        ranks: [column], 1 for the largest; 0: not ranked.
    """

    key: str
    label: str
    agreement: str
    values: ArrayLike
    written: Sequence[str]
    ranks: ArrayLike


_NOT_RANKED = {
    "itself": "the token itself, not ranked",
    "aside": "not ranked",
    "unseen": "masked",
    "counted": "",
}


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
) -> None:
    """Draw the rows, the yardstick first, coloured from 0 to the row's largest value among ranked tokens.

    Args:
        title: what the grid shows.
        agreement: what the agreements beside the rows are.
        chosen: the key of the measure to mark.
        on_measure: called with the key of a row that was clicked.
    """
    counted = np.array([column.standing == "counted" for column in columns])
    values = np.array([np.where(counted, line.values, np.nan) for line in lines], np.float32)
    largest = np.nanmax(values, axis=1, keepdims=True, initial=np.finfo(np.float32).tiny)
    ranks = [[float(rank) for rank in np.asarray(line.ranks)] for line in lines]
    texts = [
        f"{line.written[at]}, "
        + (f"rank {ranks[row][at]:g} of {counted.sum()}" if ranks[row][at] else _NOT_RANKED[column.standing])
        for row, line in enumerate(lines)
        for at, column in enumerate(columns)
    ]
    row = next((row for row, line in enumerate(lines) if line.key == chosen), 0)
    head_map(
        name,
        title=f"{title}: rank in the row. Beside the name: {agreement}",
        values=values / largest,
        texts=texts,
        printed=[f"{rank:g}" if rank else "" for of_row in ranks for rank in of_row],
        low=(0, "0"),
        high=(1, "largest"),
        selected=(row, int(counted.argmax())),
        row_labels=[" · ".join(filter(None, (line.label, line.agreement))) for line in lines],
        column_labels=[column.label for column in columns],
        on_pick=lambda row, _: on_measure(lines[row].key),
    )
