"""A head's weights as a table of numbers, in either of the two conventions for rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.trace import Floats
from attnviz.ui.components.component import component

_mount = component("weights_table", "palette")


def weights_table(
    key: str,
    /,
    *,
    weights: Floats,
    others: Sequence[float] | None,
    labels: Sequence[str],
    query: int,
    columns: bool,
    caption: str,
) -> None:
    """Draws the weights with their sums.

    Args:
        key: Streamlit's key of this widget.
        weights: [query, key], of the tokens that are shown.
        others: for each query, what it gives to tokens that are not shown; None if all are.
        labels: the tokens.
        query: the one whose weights are marked.
        columns: each query has a column instead of a row.
        caption: what the table shows, in one sentence.
    """
    _mount(
        key=key,
        data={
            "weights": weights.tolist(),
            "others": None if others is None else list(others),
            "labels": list(labels),
            "query": query,
            "columns": columns,
            "caption": caption,
        },
    )
