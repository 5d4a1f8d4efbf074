"""One head, or several of a layer, as lines between tokens or as a matrix, with the numbers pointed at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from attnviz.app.components.component import widget
from attnviz.widgets.tokens import ShownToken


@dataclass(frozen=True)
class Part:
    """Which part of a long text is shown.

    Attributes:
        row, column: its first query and key, from 0.
        span: how many tokens it has along a side.
        size: how many queries and keys the text has.
        matches: what a search has found, in words.
        below: weights below this are not drawn.
        hides: how much weight that is, in words.
    """

    row: int
    column: int
    span: int
    size: tuple[int, int]
    matches: str = ""
    below: float = 0.0
    hides: str = ""


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
    kind: Literal["sequential", "diverging"] = "sequential",
    unit: Literal["percent", "score", "signed percent"] = "percent",
    note: str = "",
    caption: str = "",
    filename: str = "attention",
    on_pick: Callable[[int | None, int | None], None] | None = None,
    on_heads: Callable[[int, list[int]], None] | None = None,
    on_window: Callable[[int, int, int], None] | None = None,
    on_find: Callable[[str, int], None] | None = None,
    on_hide: Callable[[float], None] | None = None,
) -> None:
    """Draws the heads; the visitor points at tokens, pins a pair, changes the heads, saves the picture.

    Colours and lines come from `pixels`, so that another head is drawn at once; every printed number
    comes from `exact`, and stays blank until that has arrived.

    Args:
        pixels: what `store.publish` returned for the array `pixels`, uint8 [head, query, key], with the fact
            `heads` (its [layer, head] pairs, from 1) and, for the legend, `high` (each head's value at the
            highest level).
        exact: the same for the array `values`, float32 [head, query, key]; None while there are none. Where
            rows are rescaled, also for `left`, float32 [head, query], how much of each is shown, with the
            facts `hidden`, what the rest went to, and `min_kept`: rows of which less is shown are marked.
        view: "lines" or "matrix".
        layer, heads, heads_total: which heads to show, from 1, and how many the layer has; 0: no choice.
        query_tokens, key_tokens: the rows and columns, in order.
        query, key: the pinned pair, as numbers into these tokens; None for none.
        together: the rows that are followed together while no query is pinned: their sum is shown.
        part: of a long text, which part of it the rows and columns are, or blocks of them; None: all.
        heading: what the picture is called; "" for "Layer 4 · Head 2".
        kind: "sequential" (levels 0 to 254 = low to high) or "diverging" (127 = zero); 255 = masked.
        unit: how numbers are written: 0.664 as "66.4 %", "0.66" or "+66.4 %".
        note: what the colours mean, below the picture.
        caption: what the picture shows, for the saved files.
        filename: of the saved files, without ending.
        on_pick: called with query and key when the visitor pins a pair; query None: all lines.
        on_heads: called with layer and heads, from 1.
        on_window: called with the first query, the first key and the span of the part to show next.
        on_find: called with a text to find, and 1 (the next one) or −1 (the one before).
        on_hide: called with a weight; smaller ones are not to be drawn.
    """
