"""Two sentences in one model: the change of each head, and the selected head in both sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.aligned import Grid
from attnviz.analysis.distance import ranked
from attnviz.analysis.sentence import changed_keys
from attnviz.app import controls, markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.heads import choosing
from attnviz.app.heads.compare import choices, pictures
from attnviz.app.heads.compare.compared import Comparison, aligned, aligned_weights, distances
from attnviz.app.references import cited_markdown
from attnviz.text import head_name, percent, signed_percent
from attnviz.trace import Floats

_MAX_LISTED = 8
_MIN_VISIBLE = 5e-4  # smaller changes are shown as 0
_TEXTS = markdown.parts(Path(__file__).with_name("explained.md"))

Head = tuple[int, int]


def draw(compared: Comparison, places: Sequence[DeltaGenerator]) -> None:
    """Draw the ranking of all heads, and one head in both sentences; the selects are drawn in `places`.

    Raises:
        AttnvizError: the sentences share too few words, or are too long.
    """
    grid = aligned(compared)
    overview, beside = st.columns([5, 7], gap="medium")
    with beside:
        finding, listed = st.container(), st.container()
        one_word = choices.choose_one_word()
    with places[0]:
        head = choosing.head(compared.model, compared.kind)
    with places[1]:
        word = choices.choose_word(compared, grid)
    rows = distances(compared)
    values = rows[..., word] if one_word else rows.mean(axis=-1)
    order = ranked(values)
    first, second = aligned_weights(compared, "first", *head), aligned_weights(compared, "second", *head)
    row = grid.shared[word]
    with overview:
        _map(values, head)
    finding.markdown(
        f"{_describe_rank(values, order, head, one_word)} {describe_change(grid, second - first, row)}"
    )
    with listed:
        offered = {f"{head_name(*at)} · {percent(float(values[at]))}": at for at in order[:_MAX_LISTED]}
        controls.buttons(
            "Heads that change most", offered, "most changed", lambda at: controls.open_head(*at)
        )
    pictures.draw(grid, first, second, head, row, compared)


def _describe_rank(values: Floats, order: Sequence[Head], head: Head, one_word: bool) -> str:
    """Return the rank of the selected head among all heads, and the value of the median head."""
    where = " for the chosen word" if one_word else ""
    if float(values.max()) < _MIN_VISIBLE:
        return f"The weights of all {values.size} heads are unchanged{where}."
    number, median = (percent(float(value)) for value in (values[head], np.median(values)))
    return (
        f"Head {head_name(*head)}: total variation **{number}**{where}, **rank {order.index(head) + 1} of "
        f"{values.size}** (median: {median})."
    )


def describe_change(grid: Grid, change: Floats, row: int) -> str:
    """Describe a row's changes: "Change of the weights from `it`: to `dog` **−36 points** …".

    Args:
        grid: The aligned words.
        change: One head's weights, second − first, [row, column]; NaN where either sentence has no weight.
        row: Row of a word that both sentences have.
    """
    name = markdown.token(row, grid.queries)
    moved = changed_keys(change, row, grid.queries, grid.keys)
    parts = [
        f"to {markdown.code(key)} **{signed_percent(size)}**"
        for key, size in filter(None, (moved.loss, moved.gain))
    ]
    if not parts:
        return f"No weight of {name} on a shared word changes by 0.5 percentage points or more."
    return f"Change of the weights from {name}: {', '.join(parts)}."


def _map(values: Floats, head: Head) -> None:
    highest = max(float(values.max()), _MIN_VISIBLE)
    head_map(
        "changes",
        title="How much each head changes: total variation",
        values=values,
        texts=[percent(float(value)) for value in values.ravel()],
        low=(0.0, "0"),
        high=(highest, percent(highest)),
        printed=[f"{100 * value:.0f}" for value in values.ravel()],
        selected=head,
        on_pick=controls.open_head,
    )


def explain() -> None:
    """Explain the alignment of words, merging, and the formula of the change."""
    cited_markdown(_TEXTS["measure"])


def limits() -> None:
    """List conclusions that the comparison does not support."""
    cited_markdown(_TEXTS["limits"])
