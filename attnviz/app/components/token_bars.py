"""A number for every token of a text, as bars of one scale, in the order of the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from attnviz.app.components.component import widget


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


@widget
def token_bars(key: str, /, *, title: str, bars: Sequence[Bar]) -> None:
    """Draws the tokens downwards, in order, in as many columns as there is room for."""
