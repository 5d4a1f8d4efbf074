"""Rows of tokens, each saying whether its output stayed the same to the bit, or how far it moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from attnviz.app.components.component import widget


class Output(TypedDict):
    """One token's output.

    Attributes:
        label: the token; "tired → narrow" where it was replaced (`edited`).
        unchanged: whether its output is the same to the bit.
        distance, written: 1 − cosine between the output before and after, and as a person reads it.
    """

    label: str
    edited: bool
    unchanged: bool
    distance: float
    written: str


class Row(TypedDict):
    """All tokens under one mask, in order."""

    title: str
    outputs: list[Output]


@widget
def moved_outputs(name: str, rows: Sequence[Row], /) -> None:
    """Draws the rows, with equally many tokens, one below the other, each token in the same place."""
