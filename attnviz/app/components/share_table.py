"""A table of bars for predicted tokens, for keys and their weights, or for a number per token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from attnviz.app.components.component import widget


class Row(TypedDict):
    """One token or key.

    Attributes:
        place: Text before the label: rank or number, "…", or "".
        score: Dot product of the key and the query; None for a row with several keys.
        shares: Value in each column; a negative value has no bar.
        written: Formatted values; the default format is percent.
        mark: Note on an emphasized row: "chosen" or "in the text"; "" for none.
        marked: Emphasize the row without a note.
        hint: Tooltip of the row.
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
    """A line below the rows: a label, and a formatted number for each column."""

    label: str
    values: Sequence[str]


@widget
def share_table(
    key: str,
    /,
    *,
    title: str,
    row_kind: Literal["token", "key", ""] = "token",
    columns: Sequence[str],
    rows: Sequence[Row],
    measures: Sequence[Measure] = (),
    full: float = 1,
    about: str = "",
    omitted: str = "",
) -> None:
    """Draw a table with bars.

    Args:
        key: Streamlit key of this widget.
        title: Caption for screen readers.
        row_kind: Heading of the rows; "key" adds a column with the `score`; "" for no heading.
        columns: Headings of the value columns.
        rows: Rows, in display order.
        measures: Lines below the rows.
        full: Value of a bar of full length.
        about: Caption of the saved picture, in place of the page's sentence.
        omitted: Names of the tokens without a row, for the saved picture.
    """
