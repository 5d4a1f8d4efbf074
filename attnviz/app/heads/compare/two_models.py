"""One sentence, two models: which head of one looks where a head of the other does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.distance import ranked
from attnviz.app import controls, markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.heads import choosing
from attnviz.app.heads.compare import choices, pictures
from attnviz.app.heads.compare.choices import choose_word
from attnviz.app.heads.compare.compared import Comparison, aligned, away_from, placed
from attnviz.app.heads.compare.telling import row_moves
from attnviz.app.models import lookup
from attnviz.app.state.choices import AGAINST_HEAD, AGAINST_LAYER, ALIKE
from attnviz.models.catalogue import Entry
from attnviz.text import head_name, ordinal, percent
from attnviz.trace import Floats

Head = tuple[int, int]


def draw(compared: Comparison, places: Sequence[DeltaGenerator]) -> Comparison:
    """Draw both models' heads, the ones that are most alike, and their weights on common words.

    In `places`: the first model's head and the word.

    Returns:
        What was compared, as the visitor chose it here.

    Raises:
        AttnvizError: the two have no word in common, or the text is too long.
    """
    aligned(compared)  # raises before anything is drawn
    reads = compared.first, compared.second
    entries = [read.model for read in reads]
    names = [lookup.called(entry) for entry in entries]
    codes = [markdown.code(name) for name in names]
    left, right = st.columns(2, gap="medium")
    chosen = [side.container() for side in (left, right)]
    maps = [side.container() for side in (left, right)]
    finding = st.container()
    _one_kind(compared, entries)
    layers = [entry.layers_of(read.kind) for entry, read in zip(entries, reads, strict=True)]
    with left if layers[0] < layers[1] else right:  # under the smaller map, where there is room
        compared, one_word = choices.how(compared)
    grid = aligned(compared)
    with places[0]:
        head = choosing.head(entries[0], compared.first.kind)
    with places[1]:
        word = choose_word(compared, grid)
    row = word if one_word else None
    chosen[0].markdown(f"**First model**: {codes[0]}")
    there = away_from(compared, "first", head, row)
    with chosen[1]:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**Second model**: {codes[1]}", width="content")
            follows = ALIKE.toggle(
                "The head most alike",
                True,
                help="On: always the head nearest to the first model's. Off: any head that you choose.",
            )
        nearest = ranked(there, largest_first=False)[0]
        other = _choose_other(entries[1], compared, nearest if follows else None)
    here = away_from(compared, "second", other, row)
    first_text = _described(there, other, f"{head_name(*head)} of {codes[0]}", codes[1])
    second_text = _described(here, head, f"{head_name(*other)} of {codes[1]}", codes[0])
    finding.markdown(f"{first_text} The other way round: {second_text[0].lower()}{second_text[1:]}")
    with maps[0]:
        _map(
            "first heads",
            here,
            head,
            f"Distance from {head_name(*other)} of {names[1]}",
            controls.open_head,
        )
    with maps[1]:
        _map("second heads", there, other, f"Distance from {head_name(*head)} of {names[0]}", _open_other)
    first = placed(compared, "first", *head)
    second = placed(compared, "second", *other)
    st.markdown(
        f"From **{head_name(*head)}** of {codes[0]} to **{head_name(*other)}** of {codes[1]}, "
        f"{row_moves(grid, first.weights, second.weights, grid.shared[word])}"
    )
    difference = np.abs(second.weights - first.weights)
    pictures.draw(
        grid,
        first,
        second,
        titles=[f"{names[0]}, {head_name(*head)}", f"{names[1]}, {head_name(*other)}", "second − first"],
        sides=("first model", "second model"),
        high=float(np.nanmax(difference)) if np.isfinite(difference).any() else 1.0,
        row=grid.shared[word],
        note="Weights of both models have one colour scale, 0 to 100 %. The scale of the difference ends at "
        f"the largest one in this picture. {pictures.SIGNS}",
        compared=compared,
    )
    return compared


def _one_kind(compared: Comparison, entries: Sequence[Entry]) -> None:
    """Name the compared attention of a model with several kinds."""
    for read, entry in zip((compared.first, compared.second), entries, strict=True):
        if len(entry.kinds) > 1:
            name = markdown.code(lookup.called(entry))
            st.markdown(
                f":small[Of {name}, the *{read.kind}* attention is compared: the only one of its "
                f"{len(entry.kinds)} kinds in which this text alone is read.]"
            )


def _choose_other(entry: Entry, compared: Comparison, nearest: Head | None) -> Head:
    """Draw the choice of the second model's head; it follows what is most alike, if it is to."""
    if nearest is not None:
        AGAINST_LAYER.set(nearest[0] + 1)
        AGAINST_HEAD.set(nearest[1] + 1)
    layer, head = controls.head(
        entry.layers_of(compared.second.kind),
        entry.heads,
        (1, 1),
        (AGAINST_LAYER, AGAINST_HEAD),
        ("Its layer", "Its head"),
        lambda: ALIKE.set(False),
    )
    return controls.with_weights(entry, layer), head


def _open_other(layer: int, head: int) -> None:
    AGAINST_LAYER.set(layer + 1)
    AGAINST_HEAD.set(head + 1)
    ALIKE.set(False)


def _described(distances: Floats, opened: Head, asked: str, there: str) -> str:
    """Which head of a model is most alike to one of the other, and the rank of the open one.

    Args:
        distances: [layer, head], of each head of the model.
        opened: which of them is open.
        asked, there: the other model's head, and the model, as Markdown.
    """
    order = ranked(distances, largest_first=False)
    nearest, middle = (percent(float(value)) for value in (distances[order[0]], np.median(distances)))
    sentence = (
        f"Most alike to {asked} is **{head_name(*order[0])}** of {there} ({nearest} apart; "
        f"the median head {middle})."
    )
    if order[0] != opened:
        sentence += f" The open head {head_name(*opened)} is the {ordinal(order.index(opened) + 1)}nearest."
    return sentence


def _map(
    key: str,
    distances: Floats,
    head: Head,
    title: str,
    opened: Callable[[int, int], None],
) -> None:
    most = float(distances.max()) or 1.0
    head_map(
        key,
        title=title,
        values=distances,
        texts=[f"{percent(float(value))} apart" for value in distances.ravel()],
        low=(0.0, "0: alike"),
        high=(most, percent(most)),
        printed=[f"{100 * value:.0f}" for value in distances.ravel()],
        selected=head,
        on_pick=opened,
    )
