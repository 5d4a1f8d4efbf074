"""A computation as a list of steps, with the input and output arrays of each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

from attnviz.app.components.component import widget
from attnviz.widgets.tokens import ShownToken


class Column(TypedDict):
    """Arrays drawn below each other.

    Attributes:
        width: "matrix" for an equal part of the remaining width; "numbers" and "bars" for narrow columns.
        top: Arrays without a row for each token.
        rows: Arrays with a row for each token, or a vector drawn at the query token's row.
        bottom: Arrays computed from all rows.
    """

    width: Literal["matrix", "numbers", "bars"]
    top: Sequence[str]
    rows: Sequence[str]
    bottom: Sequence[str]


class DrawnStep(TypedDict):
    """One step: its title, formula, explanation and arrays.

    In a residual stream, `lane` is the step's branch; `splits` and `merges` name the branch that starts or
    ends at the step.
    """

    title: str
    formula: str
    sentence: str
    columns: Sequence[Column]
    lane: Literal["", "stream", "attention", "feed-forward"]
    splits: NotRequired[str]
    merges: NotRequired[str]


class ArrayInfo(TypedDict):
    """Appearance and computation of an array.

    Attributes:
        op: Name of the operation, in `FORMULAS` of `step_formulas.js`.
        of: Names of the input arrays.
        drawn_as: "matrix", "numbers" or "wrapped": a long vector on several lines.
        role: "query", "key", "value", "weights", or "plain".
        symbol: A letter and its subscript.
        title: Name for screen readers.
    """

    op: str
    of: Sequence[str]
    drawn_as: Literal["matrix", "numbers", "wrapped"]
    role: str
    symbol: Sequence[str]
    title: str


def column(
    width: Literal["matrix", "numbers", "bars"] = "matrix",
    *,
    top: Sequence[str] = (),
    rows: Sequence[str] = (),
    bottom: Sequence[str] = (),
) -> Column:
    """Return a column of arrays."""
    return {"width": width, "top": list(top), "rows": list(rows), "bottom": list(bottom)}


def array_info(
    op: str,
    of: str,
    role: str,
    symbol: str,
    title: str,
    drawn_as: Literal["matrix", "numbers", "wrapped"] = "matrix",
) -> ArrayInfo:
    """Return the description of an array; spaces separate names in `of`, "_" the parts of `symbol`."""
    return {
        "op": op,
        "of": of.split(),
        "drawn_as": drawn_as,
        "role": role,
        "symbol": symbol.split("_"),
        "title": title,
    }


@widget
def steps(
    key: str,
    /,
    *,
    source: str,
    step: int,
    steps: Sequence[DrawnStep],
    arrays: Mapping[str, ArrayInfo],
    keep_open: bool,
    tokens: Sequence[ShownToken] = (),
    query: int | None = None,
    total: int = 0,
    rest: Mapping[str, float] | None = None,
    origin: str = "",
    facts: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
    reach: float | None = None,
    omitted: str = "",
    on_step: Callable[[int], None] | None = None,
) -> None:
    """Draw the steps up to the current one; hovering over a number shows its computation.

    Args:
        key: Streamlit key of this widget.
        source: Store id of the float32 arrays; a softmax also has the metadata `largest` and `sum`.
        step: Current step, from 1.
        steps: All steps; a single step without a title has no buttons.
        arrays: Arrays to draw, by name.
        keep_open: Keep earlier steps open; each vector then has its formula below it.
        tokens: Tokens that have a row.
        query: Row of the query token, from 0.
        total: Number of tokens of the text.
        rest: Number of tokens without a row, as `count`; the array `rest` is the sum of their terms.
        origin: Origin of the tokens' vectors, as a sentence.
        facts: Numbers below a vector, by array name; each has `label`, `part` and `value`.
        reach: End of the colour scale of all vectors; None if each matrix has its own scale.
        omitted: Tokens that are not shown, for the saved picture.
        on_step: Called with the step that the visitor chose.
    """
