"""Any weights as the lines or the matrix of the Explore page: pointed at, pinned, and saved as a picture."""

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
    """The tokens of a text as the picture names them."""
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
    kind: Literal["sequential", "diverging"] = "sequential",
    unit: Literal["percent", "score", "signed percent"] = "percent",
    note: str = "",
    caption: str = "",
    filename: str = "attnviz",
    on_pick: Callable[[int | None, int | None], None] | None = None,
) -> None:
    """Draw weights, or other numbers between queries and keys.

    Args:
        name: Streamlit's key of the picture.
        weights: [head, query, key]; NaN or −inf: a cell that the mask forbids.
        query_tokens, key_tokens: the rows and the columns.
        view: lines between tokens, or a matrix.
        query, key: the pinned pair, from 0; None for none.
        layer, heads: what the first axis is called, from 1.
        heading: what the picture is called, if not "Layer 4 · Head 2".
        kind: "sequential" for shares of 1, "diverging" for numbers around 0.
        unit: how numbers are written.
        note: what the colours mean, below the picture.
        caption: the caption of the saved picture; "": its heading.
        filename: of the saved picture, without ending.
        on_pick: called with query and key, from 0, when the visitor pins a pair; query None: all.
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
