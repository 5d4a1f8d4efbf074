"""A heatmap of one number per head: a row for each layer, a column for each head, and a colour bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from attnviz.app.components.component import mount
from attnviz.trace import Floats

End = tuple[float, str]
"""End of a scale and its label: (0.71, "71 %")."""


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
    """Draw the map; a click, Enter or Space on a head selects it.

    Args:
        key: Streamlit key of this widget.
        title: Name of the values, above the colour bar; also the map's name for screen readers.
        values: [layer, head]; NaN where a head has no value.
        texts: Tooltip of each head, layer by layer, also read by screen readers: "66 %"
            becomes "Head 4-2: 66 %".
        low, high: Ends of the scale and their labels. Values beyond an end have the colour of the end.
        kind: "sequential" (from the background's colour at `low` to the strongest colour at `high`) or
            "diverging" (from the background's colour at 0 to the strongest at the end further from 0).
        printed: Short text in the cell of each head, if it fits: "66".
        selected: Layer and head to outline, from 0.
        row_labels, column_labels: Labels, if rows and columns are not layers and heads.
        on_pick: Called with layer and head, from 0.

    Raises:
        ValueError: the length of `texts` or `printed` differs from the number of heads.
    """
    layers, heads = values.shape
    for name, each in (("texts", texts), ("printed", printed)):
        if each is not None and (size := len(each)) != (n := layers * heads):
            raise ValueError(f"`{name}` must have {n} entries ({layers} × {heads} heads), not {size}.")
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
