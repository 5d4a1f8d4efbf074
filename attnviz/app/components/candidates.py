"""What a model expects in a place: the likeliest tokens as bars, and which one was taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from attnviz.app.components.component import widget


class Expected(TypedDict):
    """One token that could stand there.

    Attributes:
        label: what is written.
        place: its rank, from 1; None for one that is not among the likeliest.
        numbers: its probability, and after the filters, where there are any.
        mark: what is said of it: "taken", "in the text", or "".
    """

    label: str
    place: int | None
    numbers: Sequence[float]
    mark: str


@widget
def candidates(key: str, /, *, title: str, columns: Sequence[str], rows: Sequence[Expected]) -> None:
    """Draws the tokens as a table of bars; the longest possible bar is 100 %.

    Args:
        title: what the table is called, for those who do not see it.
        columns: what the columns of numbers are called.
        rows: the tokens, the likeliest first.
    """
