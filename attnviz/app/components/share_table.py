"""Numbers as bars in rows: what a model expects, keys under several softmaxes, a number for each token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from attnviz.app.components.component import widget


class Row(TypedDict):
    """One token or key.

    Attributes:
        place: what stands before its label: its rank or its number, "…", or "".
        score: of a key, its dot product with the query; None for several keys together.
        shares: in each of the columns; a negative one has no bar.
        written: the same as a person reads them; without it, in percent.
        mark: a note on a row to emphasize: "taken" or "in the text"; "" for none.
        marked: whether the row is emphasized without a note.
        hint: the tooltip of the row.
    """

    label: str
    place: str
    score: NotRequired[float | None]
    shares: Sequence[float]
    written: NotRequired[Sequence[str]]
    mark: NotRequired[str]
    marked: NotRequired[bool]
    hint: NotRequired[str]


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
    of: Literal["token", "key", ""] = "token",
    columns: Sequence[str],
    rows: Sequence[Row],
    measures: Sequence[Measure] = (),
    full: float = 1,
    about: str = "",
    omitted: str = "",
) -> None:
    """Draw the rows in their order as a table of bars.

    Args:
        key: Streamlit's key of this widget.
        title: the caption for screen readers.
        of: the heading of the rows; rows of keys have scores.
        columns: the headings of the shares.
        rows: what is drawn.
        measures: lines below.
        full: the number at which a bar is full.
        about: what the saved picture says, where it is not about the page's sentence.
        omitted: which tokens are not among the rows, for the saved picture.
    """
