"""A number for every token of a text, as bars on one scale, in the order of the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from attnviz.app.components.share_table import Row, share_table


class Bar(TypedDict):
    """One token's number.

    Attributes:
        number: Position of the token, from 1.
        size: Length relative to the longest bar, 0 to 1.
        written: Formatted number.
        hint: Tooltip.
        marked: True for the page's current token, which is emphasized.
    """

    number: int
    label: str
    size: float
    written: str
    hint: str
    marked: bool


def token_bars(key: str, /, *, title: str, bars: Sequence[Bar]) -> None:
    """Draw a row for each token, in order, below the title."""
    rows: list[Row] = [
        {
            "label": bar["label"],
            "place": str(bar["number"]),
            "shares": [bar["size"]],
            "written": [bar["written"]],
            "marked": bar["marked"],
            "hint": bar["hint"],
        }
        for bar in bars
    ]
    share_table(key, title=title, row_kind="", columns=[title], rows=rows)
