"""One number for every head: layers downwards, heads across, coloured on one scale whose bar is in sight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from attnviz.app.components.component import mount
from attnviz.trace import Floats

End = tuple[float, str]
"""Where a scale ends, and how that is written: (0.71, "71 %")."""


def head_map(
    key: str,
    /,
    *,
    title: str,
    values: Floats,
    texts: Sequence[str],
    low: End,
    high: End,
    kind: Literal["sequential", "diverging"] = "sequential",
    printed: Sequence[str] | None = None,
    selected: tuple[int, int] | None = None,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    on_pick: Callable[[int, int], None] | None = None,
) -> None:
    """Draws the map; a click, Enter or Space on a head picks it.

    Args:
        key: Streamlit's key of this widget.
        title: what the numbers are; it stands above the bar of the scale, and names the map for those who do
            not see it.
        values: [layer, head]; NaN where a head has no value.
        texts: for each head, layer by layer, what is read out and shown on pointing at it: "66 %", which
            becomes "Head 4-2: 66 %".
        low, high: the ends of the scale. What lies beyond an end has its colour.
        kind: "sequential" (from the background's colour at `low` to the strongest at `high`) or "diverging"
            (0 has the background's colour; the end that is further from 0 has the strongest).
        printed: for each head, a few signs that stand in its cell where there is room: "66".
        selected: the layer and head to ring, from 0.
        row_labels, column_labels: what the rows and columns are, where they are not layers and heads.
        on_pick: called with layer and head, from 0.

    Raises:
        ValueError: a head lacks its text.
    """
    layers, heads = values.shape
    for each in (texts, printed):
        if each is not None and len(each) != layers * heads:
            raise ValueError(f"{len(each)} texts for {layers} × {heads} heads.")
    message = {
        "title": title,
        "heads": heads,
        "values": [float(f"{value:.6g}") if np.isfinite(value) else None for value in values.ravel()],
        "texts": texts,
        "low": low,
        "high": high,
        "kind": kind,
        "printed": printed,
        "selected": selected and [place + 1 for place in selected],
        "row_labels": row_labels,
        "column_labels": column_labels,
    }
    pick = on_pick and (lambda layer, head: on_pick(layer - 1, head - 1))
    mount("head_map", key, message, on_pick=pick)
