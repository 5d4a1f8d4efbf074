"""One model, two sentences: which heads change, and what the open one does in both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.aligned import Overlap
from attnviz.analysis.distance import ranked
from attnviz.app import controls, markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.heads import choosing
from attnviz.app.heads.compare import choices, pictures
from attnviz.app.heads.compare.choices import choose_word
from attnviz.app.heads.compare.compared import (
    Aligned,
    Comparison,
    Placed,
    aligned,
    largest,
    moved,
    placed,
)
from attnviz.app.heads.compare.telling import row_moves
from attnviz.app.state.choices import PER_HEAD
from attnviz.text import head_name, ordinal, percent
from attnviz.trace import Floats

_LISTED = 8
_SIDES = ("first sentence", "second sentence")
_MIN_VISIBLE = 5e-4  # below, every change reads 0

Head = tuple[int, int]


def draw(compared: Comparison, places: Sequence[DeltaGenerator]) -> Comparison:
    """Draw the ranking of all heads, and the open one in both sentences; in `places`, the head and the word.

    Returns:
        What was compared, as the visitor chose it here.

    Raises:
        AttnvizError: the two share too few words, or are too long.
    """
    _caution(aligned(compared).overlap)
    overview, beside = st.columns([5, 7], gap="medium")
    with beside:
        finding, listed = st.container(), st.container()
        compared, one_word = choices.how(compared)
    grid = aligned(compared)
    with places[0]:
        head = choosing.head(compared.model, compared.kind)
    with places[1]:
        word = choose_word(compared, grid)
    rows = moved(compared)
    values = rows[..., word] if one_word else rows.mean(axis=-1)
    order = ranked(values)
    first, second = (placed(compared, side, *head) for side in ("first", "second"))
    with overview:
        _map(values, head)
    finding.markdown(
        f"{_place(values, order, head, one_word)} "
        f"{row_moves(grid, first.weights, second.weights, grid.shared[word])}"
        f"{_largest_move(grid, rows[head], word)}"
    )
    with listed:
        _list(values, order)
    _differences(compared, grid, head, grid.shared[word], first, second)
    return compared


def _caution(overlap: Overlap) -> None:
    """Note where most of a head's attention cannot be compared."""
    if overlap.is_low:
        longer = max(overlap.first, overlap.second)
        st.warning(
            f"**{overlap.aligned} of {longer} words aligned.** Most words of the longer sentence have no "
            "place in the other, so what follows means little.",
            icon=":material/rule:",
        )


def _place(values: Floats, order: Sequence[Head], head: Head, one_word: bool) -> str:
    """The rank of the open head among all, and the median head beside it."""
    where = " for the chosen word" if one_word else ""
    if float(values.max()) < _MIN_VISIBLE:
        return f"None of the {values.size} heads changes{where}."
    place = f"{ordinal(order.index(head) + 1)}most"
    number, middle = (percent(float(value)) for value in (values[head], np.median(values)))
    return (
        f"Of {values.size} heads, **{head_name(*head)}** changes **{place}**{where}: {number} of its weight "
        f"lies elsewhere ({middle} in the median head)."
    )


def _largest_move(grid: Aligned, rows: Floats, word: int) -> str:
    """Which word's row changes most in the open head, where it is another than the chosen one."""
    most = int(rows.argmax())
    if most == word or rows[most] < _MIN_VISIBLE:
        return ""
    name = markdown.token(grid.shared[most], grid.queries)
    return f" In this head the row of {name} changes most ({percent(float(rows[most]))})."


def _map(values: Floats, head: Head) -> None:
    most = max(float(values.max()), _MIN_VISIBLE)
    head_map(
        "changes",
        title="How much each head changes: total variation",
        values=values,
        texts=[percent(float(value)) for value in values.ravel()],
        low=(0.0, "0"),
        high=(most, percent(most)),
        printed=[f"{100 * value:.0f}" for value in values.ravel()],
        selected=head,
        on_pick=controls.open_head,
    )


def _list(values: Floats, order: Sequence[Head]) -> None:
    """The heads that change most, as buttons that open them."""
    offered = {f"{head_name(*head)} · {percent(float(values[head]))}": head for head in order[:_LISTED]}
    controls.buttons("Heads that change most", offered, "most changed", lambda at: controls.open_head(*at))


def _differences(
    compared: Comparison,
    grid: Aligned,
    head: Head,
    row: int,
    first: Placed,
    second: Placed,
) -> None:
    per_head = PER_HEAD.toggle(
        "Scale colours per head",
        help="Off: a colour of the difference means the same number in every head. "
        "On: this head's largest change has the strongest colour.",
    )
    own = np.nan_to_num(np.abs(second.weights - first.weights))
    ends = "at this head's largest change" if per_head else "for all heads at the largest change of any"
    name = f"Head {head_name(*head)}"
    pictures.draw(
        grid,
        first,
        second,
        titles=[f"{name}, {_SIDES[0]}", f"{name}, {_SIDES[1]}", f"{name}, second − first"],
        sides=_SIDES,
        high=float(own.max()) if per_head else largest(compared),
        row=row,
        note="Weights of both sentences have one colour scale, 0 to 100 %. The scale of the difference ends "
        f"{ends}. {pictures.SIGNS}",
        compared=compared,
    )
