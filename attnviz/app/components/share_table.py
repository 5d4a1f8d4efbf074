"""Shares as bars: of the tokens that a model expects in a place, or of keys under several softmaxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from attnviz.app.components.component import widget


class Row(TypedDict):
    """One token or key.

    Attributes:
        place: what stands before its label: its rank or its number, "…", or "".
        score: of a key, its dot product with the query; None for several keys together.
        shares: in each of the columns, 0 to 1.
        mark: what is said of a token that stands out: "taken" or "in the text"; "" of none.
    """

    label: str
    place: str
    score: NotRequired[float | None]
    shares: Sequence[float]
    mark: NotRequired[str]


class Measure(TypedDict):
    """A number for each column, below its shares."""

    label: str
    values: Sequence[str]


@widget
def share_table(
    key: str,
    /,
    *,
    title: str,
    of: Literal["token", "key"] = "token",
    columns: Sequence[str],
    rows: Sequence[Row],
    measures: Sequence[Measure] = (),
    about: str = "",
) -> None:
    """Draws the rows in their order as a table of bars, of which the longest possible one is 100 %.

    The title is for those who do not see the table; the columns are those of the shares.
    `about` is what the saved picture says, where it is not about the page's sentence.
    """
