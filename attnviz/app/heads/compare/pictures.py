"""First, second and difference side by side, on one grid of words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken, aside, faint, faint_rows
from attnviz.analysis.picture import Picture, diverging, sequential
from attnviz.app import markdown
from attnviz.app.components.head_view import head_view
from attnviz.app.components.store import publish
from attnviz.app.heads.compare.compared import Aligned, Comparison, Placed
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of
from attnviz.app.state.choices import HEAD, LAYER, QUERY
from attnviz.text import isolated
from attnviz.widgets.tokens import ShownToken, shown_tokens

SIGNS = (
    "Colours follow the square root, so that small numbers show: half the colour is a quarter of the number. "
    "− and +: a word that only the first or only the second has there; hatched: nothing to compare, or "
    "masked. Points are percentage points. The pieces of a word are shown as one"
    f"{faint_rows('what is not shown')}."
)


class Row(ShownToken):
    """A row or a column, with a note on a row's numbers, mostly ""."""

    aside: str


_CAPTION = 300  # characters of a sentence that a caption has room for
_MIN_VISIBLE = 5e-4  # a smaller change reads "0.0 points"


def draw(
    grid: Aligned,
    first: Placed,
    second: Placed,
    titles: Sequence[str],
    sides: tuple[str, str],
    high: float,
    row: int,
    note: str,
    compared: Comparison,
) -> None:
    """Draw the three matrices; a click on a row chooses its word.

    Args:
        grid: the aligned words.
        first, second: the weights of each side.
        titles: the titles of the three.
        sides: what sentences call the first and the second.
        high: where the colours of the difference end.
        row: the chosen one of the rows.
        note: what the colours mean.
        compared: what is compared, for the saved files.
    """
    difference = second.weights - first.weights
    drawn = faint(difference, np.fmin(first.left, second.left))
    if high < _MIN_VISIBLE:
        high = 1.0  # what is left by rounding is not to look like a change
    rows = _named(grid.queries, _asides(first, second, sides))
    columns = _named(grid.keys, [""] * len(grid.columns))
    shown = (
        ("first", _weights(first), first.weights),
        ("second", _weights(second), second.weights),
        ("difference", diverging(drawn, end=high), difference),
    )
    for place, title, (name, picture, values) in zip(st.columns(3), titles, shown, strict=True):
        head, facts = [[1, 1]], {"high": [float(picture.high)]}
        with place:
            st.markdown(f"**{markdown.plain(title)}**")
            head_view(
                f"compared {name}",
                pixels=publish(f"{name} pixels", {"pixels": picture.levels[None]}, heads=head, **facts),
                exact=publish(f"{name} exact", {"values": values[None]}, heads=head),
                view="matrix",
                layer=1,
                heads=[1],
                heads_total=0,
                query_tokens=rows,
                key_tokens=columns,
                query=row,
                key=None,
                heading=title,
                kind=picture.kind,
                unit="signed percent" if name == "difference" else "percent",
                caption=_caption(compared),
                filename=f"{_filename(compared)}-{name}",
                on_pick=lambda query, _: _choose(grid, query),
            )
    st.markdown(f":small[{note}]")


def _choose(grid: Aligned, row: int | None) -> None:
    """Choose the word of a row that both sides have."""
    if row is not None and grid.rows[row].shared:
        QUERY.pick(grid.queries[row])


def _caption(compared: Comparison) -> str:
    """The captions of saved pictures."""
    first, second = (
        f"“{isolated(text if len(text) <= _CAPTION else text[:_CAPTION] + '…')}”"
        for text in (compared.first.text, compared.second.text)
    )
    return f"{first} → {second} · {lookup.called(compared.model)}"


def _filename(compared: Comparison) -> str:
    return f"{file_name_of(compared.model.name)}-head{LAYER.get(1)}-{HEAD.get(1)}-two-sentences"


def _weights(side: Placed) -> Picture:
    drawn = faint(side.weights, side.left)
    return sequential(np.nan_to_num(drawn), mask=np.isfinite(drawn))


def _named(groups: Sequence[DisplayToken], asides: Sequence[str]) -> list[Row]:
    return [
        {**token, "label": f"{token['label']} *" if parts else token["label"], "aside": parts}
        for token, parts in zip(shown_tokens(groups), asides, strict=True)
    ]


def _asides(first: Placed, second: Placed, sides: tuple[str, str]) -> list[str]:
    """A note on each row: "in the first sentence 97.3 % of this row went to [CLS]"; mostly ""."""
    parts = [
        [text and f"in the {name} {text}" for text in (aside(float(left), side.hidden) for left in side.left)]
        for side, name in zip((first, second), sides, strict=True)
    ]
    return ["; ".join(filter(None, of_row)) for of_row in zip(*parts, strict=True)]
