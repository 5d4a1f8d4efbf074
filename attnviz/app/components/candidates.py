"""What a model expects in a place: the likeliest tokens as bars, and which one was taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from attnviz.app.components.component import widget


class Expected(TypedDict):
    """One token that could stand there.

    Its `place` is its rank, from 1, or None where it is not among the likeliest; its `numbers` are its
    probability and, where there are filters, the one after them; its `mark` is "taken", "in the text" or "".
    """

    label: str
    place: int | None
    numbers: Sequence[float]
    mark: str


@widget
def candidates(key: str, /, *, title: str, columns: Sequence[str], rows: Sequence[Expected]) -> None:
    """Draws the tokens, the likeliest first, as a table of bars, of which the longest possible one is 100 %.

    The title is for those who do not see the table; the columns are those of the numbers.
    """
