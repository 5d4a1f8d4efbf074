"""A head's weights as a table of numbers, in either of the two conventions for rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.app.components.component import widget
from attnviz.trace import Floats


@widget
def weights_table(
    key: str,
    /,
    *,
    weights: Floats,
    others: Sequence[float] | None,
    queries: Sequence[str],
    keys: Sequence[str],
    query: int,
    columns: bool,
    caption: str,
    forbidden: Sequence[Sequence[bool]] | None = None,
) -> None:
    """Draws the weights with their sums.

    Args:
        weights: [query, key], of the tokens that are shown.
        others: for each query, what it gives to tokens that are not shown; None if all are.
        query: the one whose weights are marked.
        columns: whether each query has a column instead of a row.
        caption: what the table shows, in one sentence.
        forbidden: [query, key], where the mask forbids to look; None: nowhere.
    """
