"""Thumbnails of all heads of a model: a row for each layer, a column for each head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

from attnviz.app.components.component import widget


class Selection(TypedDict):
    """The shown heads, all of one layer; layer and heads are numbered from 1."""

    layer: int
    heads: Sequence[int]


@widget
def atlas(
    key: str,
    /,
    *,
    pixels: str,
    layers: int,
    heads: int,
    selected: Selection,
    facts: Sequence[str],
    dim: Sequence[int] = (),
    kind: Literal["sequential", "diverging"] = "sequential",
    omitted: str = "",
    column_labels: Sequence[str] | None = None,
    on_pick: Callable[[int, int], None] | None = None,
    on_tokens: Callable[[int | None, int | None], None] | None = None,
) -> None:
    """Draw the atlas; a click, Enter or Space on a head selects it.

    Every widget on the page draws the selection immediately; Python is notified afterwards.

    Args:
        pixels: Store id of the array `thumbnails`, uint8 [layer × head, row, column], or of
            `pixels`, uint8 [head, query, key], with the metadata `heads` ([layer, head] pairs, from 1).
        layers, heads: Number of layers, and of heads per layer.
        selected: Heads to outline.
        facts: Description of each head, layer by layer, such as "attends to dog (41 %)".
        dim: Heads to draw faintly because a filter excludes them; numbered layer by layer from 0.
        kind: "sequential" (levels 0 to 254 = low to high) or "diverging" (127 = zero); 255 = masked.
        omitted: Note on hidden parts, for the saved picture.
        column_labels: Names of the columns; None for the numbers of the heads.
        on_pick: Called with layer and head, from 1.
        on_tokens: Called with the query and key that were selected in a head view but that Python has not
            received yet; see `component._callback`.
    """
