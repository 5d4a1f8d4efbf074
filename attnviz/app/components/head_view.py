"""One or several heads of a layer, as lines between tokens or as a matrix, with values on hover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from attnviz.app.components.component import widget
from attnviz.widgets.tokens import ShownToken


@dataclass(frozen=True)
class Part:
    """The shown part of a long text.

    Attributes:
        row, column: First query and key, from 0.
        span: Number of tokens along a side.
        size: Numbers of queries and keys of the text.
        matches: Search result, in words.
        below: Threshold; smaller weights are not drawn.
        hidden_weight: Amount of weight that is not drawn, in words.
    """

    row: int
    column: int
    span: int
    size: tuple[int, int]
    matches: str = ""
    below: float = 0.0
    hidden_weight: str = ""


@widget
def head_view(
    name: str,
    /,
    *,
    pixels: str,
    exact: str | None,
    view: Literal["lines", "matrix"],
    layer: int,
    heads: Sequence[int],
    heads_total: int,
    query_tokens: Sequence[ShownToken],
    key_tokens: Sequence[ShownToken],
    query: int | None,
    key: int | None,
    together: Sequence[int] = (),
    part: Part | None = None,
    heading: str = "",
    row_axis: str = "from (query)",
    kind: Literal["sequential", "diverging"] = "sequential",
    unit: Literal["percent", "score", "signed percent"] = "percent",
    hatched: str = "masked",
    note: str = "",
    caption: str = "",
    filename: str = "attention",
    on_pick: Callable[[int | None, int | None], None] | None = None,
    on_heads: Callable[[int, list[int]], None] | None = None,
    on_window: Callable[[int, int, int], None] | None = None,
    on_find: Callable[[str, int], None] | None = None,
    on_hide: Callable[[float], None] | None = None,
) -> None:
    """Draw the heads; the visitor can hover over tokens, pin a pair, change the heads and save the picture.

    Colours and lines come from `pixels`, so that another head is drawn immediately; printed numbers
    come from `exact` and stay blank until it arrives.

    Args:
        pixels: Store id of the array `pixels`, uint8 [head, query, key], with the metadata `heads` ([layer,
            head] pairs, from 1) and, for the legend, `high` (each head's value at the highest level).
        exact: Store id of the array `values`, float32 [head, query, key]; None until computed. If rows are
            rescaled, also the array `left`, float32 [head, query], each row's weight on shown tokens, with
            the metadata `hidden` (names of the hidden tokens) and `min_kept` (rows below this are marked).
        view: "lines" or "matrix".
        layer, heads: Shown heads, from 1.
        heads_total: Number of heads in the layer; 0 hides the head selector.
        query_tokens, key_tokens: Rows and columns, in order.
        query, key: Indices of the pinned pair in these tokens; None for no pinned token.
        together: Rows to add up while no query is pinned.
        part: Shown part of a long text, in which a row or column can be a block of tokens; None for all.
        heading: Heading of the picture; "" for the default, such as "Layer 4 · Head 2".
        row_axis: Title of the matrix's rows.
        kind: "sequential" (levels 0 to 254 = low to high) or "diverging" (127 = zero); 255 = masked.
        unit: Number format: 0.664 as "66.4 %", "0.66" or "+66.4 %".
        hatched: Meaning of level 255 and of NaN.
        note: Explanation of the colours, below the picture.
        caption: Caption of the saved files.
        filename: File name without extension.
        on_pick: Called with query and key when the visitor pins a pair; query is None for all query tokens.
        on_heads: Called with layer and heads, from 1.
        on_window: Called with the first query, the first key and the span of the part to show next.
        on_find: Called with a text to find and 1 (next) or −1 (previous).
        on_hide: Called with the threshold below which weights are not drawn.
    """
