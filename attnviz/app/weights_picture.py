"""An interactive picture of any weights, like the one on the Explore page: lines or a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.picture import MASKED, diverging, sequential
from attnviz.app.components import store
from attnviz.app.components.head_view import head_view
from attnviz.trace import Floats, Token
from attnviz.widgets.tokens import ShownToken
from attnviz.widgets.tokens import shown_tokens as named


def shown_tokens(tokens: tuple[Token, ...], text: str) -> list[ShownToken]:
    """Return the tokens of a text with their names in the picture."""
    return named(DisplayTokens(tokens, text).groups)


def weights_picture(
    name: str,
    weights: Floats,
    query_tokens: Sequence[ShownToken],
    key_tokens: Sequence[ShownToken],
    /,
    *,
    view: Literal["lines", "matrix"] = "matrix",
    query: int | None = None,
    key: int | None = None,
    layer: int = 1,
    heads: Sequence[int] = (1,),
    heading: str = "",
    row_axis: str = "from (query)",
    kind: Literal["sequential", "diverging"] = "sequential",
    unit: Literal["percent", "score", "signed percent"] = "percent",
    note: str = "",
    caption: str = "",
    filename: str = "attnviz",
    on_pick: Callable[[int | None, int | None], None] | None = None,
) -> None:
    """Draw weights, or other numbers between queries and keys.

    Args:
        name: Streamlit key of the picture.
        weights: [head, query, key]; NaN or −inf in masked cells.
        query_tokens, key_tokens: Tokens of the rows and the columns.
        view: Lines between tokens, or a matrix.
        query, key: Pinned pair, from 0; None for none.
        layer, heads: Numbers of the layer and of the heads on the first axis, from 1.
        heading: Heading; "" for layer and head, such as "Layer 4 · Head 2".
        row_axis: Title of the matrix's rows.
        kind: "sequential" for numbers from 0 to 1, "diverging" for numbers around 0.
        unit: Format of the numbers.
        note: Explanation of the colours, below the picture.
        caption: Caption of the saved picture; "" for its heading.
        filename: File name of the saved picture, without extension.
        on_pick: Called with query and key, from 0, when the visitor pins a pair; with None to unpin it.
    """
    allowed = np.isfinite(weights)
    cells = np.where(allowed, weights, 0).astype(np.float32)
    picture = sequential(cells) if kind == "sequential" else diverging(np.where(allowed, weights, -np.inf))
    levels = picture.levels.copy()
    levels[~allowed] = MASKED
    names = [[layer, head] for head in heads]
    pixels = store.publish(
        f"{name} pixels",
        {"pixels": levels},
        heads=names,
        high=picture.high.ravel().tolist(),
    )
    exact = np.where(allowed, weights, np.nan).astype(np.float32)
    head_view(
        name,
        pixels=pixels,
        exact=store.publish(f"{name} exact", {"values": exact}, heads=names),
        view=view,
        layer=layer,
        heads=list(heads),
        heads_total=0,
        heading=heading,
        row_axis=row_axis,
        query_tokens=query_tokens,
        key_tokens=key_tokens,
        query=query,
        key=key,
        kind=kind,
        unit=unit,
        note=note,
        caption=caption or heading,
        filename=filename,
        on_pick=on_pick,
    )
