"""First sentence, second sentence and difference side by side, on one grid of words."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.aligned import Grid
from attnviz.analysis.picture import Picture, diverging, sequential
from attnviz.app.components.head_view import head_view
from attnviz.app.components.store import publish
from attnviz.app.heads.compare.compared import Comparison, largest_change
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of
from attnviz.app.state.choices import QUERY
from attnviz.text import head_name, isolated
from attnviz.trace import Floats
from attnviz.widgets.tokens import shown_tokens

_NOTE = (
    "The weights of both sentences share one colour scale, 0 to 100 %. The scale of the difference ends at "
    "the largest change in any head. Colour intensity is proportional to the square root of the weight or "
    "change: a quarter of the maximum has half the intensity. −: only the first sentence has this word; +: "
    "only the second has it. Hatched (no weight): masked, or not in this sentence; in the "
    "difference, not in both. Points are percentage points. The pieces of a word are merged."
)
_MAX_QUOTE = 300  # maximum characters of a sentence in a caption
_MIN_VISIBLE = 5e-4  # smaller changes are shown as "0.0 points"


def draw(
    grid: Grid, first: Floats, second: Floats, head: tuple[int, int], row: int, compared: Comparison
) -> None:
    """Draw the three matrices; a click on a row chooses its word.

    Args:
        grid: Aligned words.
        first, second: Weights of the head on the grid, [row, column]; NaN where missing or masked.
        head: Layer and head, from 0.
        row: Index of the chosen row.
        compared: The model and the two sentences.
    """
    high = largest_change(compared)
    if high < _MIN_VISIBLE:
        high = 1.0  # rounding errors must not look like changes
    difference = second - first
    pictures = (
        ("first", "first sentence", _weights(first), first),
        ("second", "second sentence", _weights(second), second),
        ("difference", "second − first", diverging(difference, end=high), difference),
    )
    for place, (name, title, picture, values) in zip(st.columns(3), pictures, strict=True):
        heads, facts = [[1, 1]], {"high": [float(picture.high)]}
        heading = f"Head {head_name(*head)}, {title}"
        with place:
            st.markdown(f"**{heading}**")
            head_view(
                f"compared {name}",
                pixels=publish(f"{name} pixels", {"pixels": picture.levels[None]}, heads=heads, **facts),
                exact=publish(f"{name} exact", {"values": values[None]}, heads=heads),
                view="matrix",
                layer=1,
                heads=[1],
                heads_total=0,
                query_tokens=shown_tokens(grid.queries),
                key_tokens=shown_tokens(grid.keys),
                query=row,
                key=None,
                heading=heading,
                kind=picture.kind,
                unit="signed percent" if name == "difference" else "percent",
                hatched="no weight",
                caption=_caption(compared),
                filename=f"{file_name_of(compared.model.name)}-head{head_name(*head)}-two-sentences-{name}",
                on_pick=lambda query, _: _select(grid, query),
            )
    st.markdown(f":small[{_NOTE}]")


def _weights(values: Floats) -> Picture:
    return sequential(np.nan_to_num(values), mask=np.isfinite(values))


def _select(grid: Grid, row: int | None) -> None:
    """Select the word of a row if both sentences have it."""
    if row is not None and grid.rows[row].shared:
        QUERY.pick(grid.queries[row])


def _caption(compared: Comparison) -> str:
    """Return the caption of saved pictures."""
    first, second = (
        f"“{isolated(text if len(text) <= _MAX_QUOTE else text[:_MAX_QUOTE] + '…')}”"
        for text in (compared.first.text, compared.second.text)
    )
    return f"{first} → {second} · {lookup.display_name(compared.model)}"
