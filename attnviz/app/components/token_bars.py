"""A number for every token of a text, as bars of one scale, in the order of the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from attnviz.app.components.share_table import Row, share_table


class Bar(TypedDict):
    """One token's number.

    Attributes:
        number: the token's, from 1.
        size: how much of the longest bar it fills, 0 to 1.
        written: the number as a person reads it.
        hint: what is shown on pointing at it.
        marked: whether it is the token that the page speaks of.
    """

    number: int
    label: str
    size: float
    written: str
    hint: str
    marked: bool


def token_bars(key: str, /, *, title: str, bars: Sequence[Bar]) -> None:
    """Draw the tokens downwards, in order, below the title."""
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
    share_table(key, title=title, of="", columns=[title], rows=rows)
