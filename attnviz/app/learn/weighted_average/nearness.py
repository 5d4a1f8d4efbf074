"""How alike a vector is to each word's, before something was done to it and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from attnviz.app.components.component import widget


class NeighbourRow(TypedDict):
    """One line: a token, and the two cosine similarities to it, from −1 to 1."""

    label: str
    name: str
    before: float
    after: float


@widget
def nearness(key: str, /, *, lines: Sequence[NeighbourRow], before: str, after: str, left_out: str) -> None:
    """Draws for each token an empty circle (before) and a full one (after) on one scale.

    `before` and `after` are what the two vectors are called, `left_out` the tokens that are not
    among the lines, for the saved picture.
    """
