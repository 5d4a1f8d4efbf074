"""Rows of weights side by side: each key's dot product, and its weight without the scale and with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from attnviz.app.components.component import widget


class Key(TypedDict):
    """One key of the row.

    Attributes:
        place: its number in the sentence, from 1; None where it has none.
        score: its dot product with the query; None for several keys together.
        weights: its weight in each of the columns.
    """

    label: str
    place: int | None
    score: float | None
    weights: Sequence[float]


class Measure(TypedDict):
    """A number for each column, below its weights."""

    label: str
    values: Sequence[str]


@widget
def softmax_bars(
    name: str,
    /,
    *,
    title: str,
    columns: Sequence[str],
    keys: Sequence[Key],
    measures: Sequence[Measure],
    about: str = "",
) -> None:
    """Draw the same row of keys under several softmaxes, as one table of bars, with the measures below.

    The title is for those who do not see the table; the columns are those of the weights.
    `about` is what the saved picture says, where it is not about the page's sentence.
    """
