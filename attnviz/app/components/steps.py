"""A computation as a list of steps, with the input and output arrays of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

from attnviz.app.components.component import mount
from attnviz.widgets.tokens import ShownToken


class Coloured(TypedDict):
    """Words in the colour of a role: "query", "key", "value" or "weights"."""

    text: str
    role: str


class Column(TypedDict):
    """Arrays drawn one below the other.

    Attributes:
        width: "matrix" for an equal part of the width; "numbers" and "bars" for printed numbers.
        top: Arrays without a row for each token.
        rows: The array with a row for each token.
        bottom: Arrays computed from all rows.
    """

    width: Literal["matrix", "numbers", "bars"]
    top: Sequence[str]
    rows: Sequence[str]
    bottom: Sequence[str]


class DrawnStep(TypedDict):
    """One step: its name, formula, explanation and arrays; in a residual stream also its position there."""

    title: str
    formula: str
    sentence: Sequence[str | Coloured]
    columns: Sequence[Column]
    lane: Literal["", "stream", "attention", "feed-forward"]
    splits: NotRequired[str]
    merges: NotRequired[str]


class Made(TypedDict):
    """How an array is drawn and computed.

    Attributes:
        op: Name of the operation, in `FORMULAS` of `step_formulas.js`.
        of: Names of the input arrays.
        drawn_as: "matrix", "numbers" or "wrapped": a long vector in lines.
        role: "query", "key", "value", "weights", or "plain".
        symbol: A letter and its subscript.
        title: Name for screen readers.
        start: Array whose largest number is selected first in vectors of this length.
    """

    op: str
    of: Sequence[str]
    drawn_as: Literal["matrix", "numbers", "wrapped"]
    role: str
    symbol: Sequence[str]
    title: str
    start: NotRequired[str]


def column(
    width: Literal["matrix", "numbers", "bars"] = "matrix",
    *,
    top: Sequence[str] = (),
    rows: Sequence[str] = (),
    bottom: Sequence[str] = (),
) -> Column:
    """Return a column of arrays."""
    return {"width": width, "top": list(top), "rows": list(rows), "bottom": list(bottom)}


def made(
    op: str,
    of: str,
    role: str,
    symbol: str,
    title: str,
    drawn_as: Literal["matrix", "numbers", "wrapped"] = "matrix",
) -> Made:
    """Return how an array is drawn and computed; spaces separate names in `of`, "_" the parts of `symbol`."""
    return {
        "op": op,
        "of": of.split(),
        "drawn_as": drawn_as,
        "role": role,
        "symbol": symbol.split("_"),
        "title": title,
    }


def steps(
    key: str,
    /,
    *,
    source: str,
    step: int,
    steps: Sequence[DrawnStep],
    arrays: Mapping[str, Made],
    keep_open: bool,
    tokens: Sequence[ShownToken] = (),
    onward: str = "",
    on_step: Callable[[int], None] | None = None,
    on_onward: Callable[[], None] | None = None,
    **facts: object,
) -> None:
    """Draw the steps up to the current one; hovering over a number shows its computation.

    Args:
        key: Streamlit key of this widget.
        source: Store id of the arrays, float32.
        step: Current step, from 1.
        steps: All steps; a single one without a title has no buttons.
        arrays: Arrays to draw, by name.
        keep_open: Keep earlier steps open; each vector then has its formula below it.
        tokens: Tokens that have a row.
        onward: Label of the button after the last step; "" for no button.
        on_step: Called with the step that the visitor chose.
        on_onward: Called when the button after the last step is pressed.
        facts: Metadata of single operations: `query`, `rest`, `total` and `origin` of a head, `norms`
            and `reach` of a residual stream, and `facts`, a few numbers for each vector; `omitted` is for
            the saved picture.
    """
    message = {
        "source": source,
        "step": step,
        "steps": steps,
        "arrays": arrays,
        "keep_open": keep_open,
        "tokens": tokens,
        "onward": onward,
        "query": None,
        "rest": None,
        "origin": "",
        "reach": None,
        "norms": [],
        "facts": {},
        **facts,
    }
    mount("steps", key, message, on_step=on_step, on_onward=on_onward)
