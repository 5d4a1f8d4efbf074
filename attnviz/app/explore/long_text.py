"""Explore for long texts: weights are computed on demand and not stored."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.picture import Levels, sequential, thumbnails
from attnviz.analysis.window import Summary, rows_of, summary
from attnviz.app import frame, traces
from attnviz.app.components import store
from attnviz.app.components.atlas import atlas
from attnviz.app.explore import long_head
from attnviz.app.explore.choices import Heads, open_heads
from attnviz.app.explore.reading import ExploreSelection
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of
from attnviz.app.server.cache import cached
from attnviz.app.state import link
from attnviz.app.state.choice import option
from attnviz.app.state.choices import ALSO, HEAD, LAYER, QUERY, VIEW
from attnviz.capture.model import ModelInput
from attnviz.models.catalogue import Entry
from attnviz.text import percent, plural
from attnviz.trace import Floats, Kind

_MAX_ATLAS_WEIGHTS = 2**26  # maximum for the thumbnails; computing so many takes some seconds on two cores
_STYLES: dict[str, Literal["lines", "matrix"]] = {"Lines": "lines", "Matrix": "matrix"}


class _Thumbnails(NamedTuple):
    """Thumbnails of all heads, [head, row, column], their tooltips, and the number of queries used."""

    pictures: Levels
    facts: tuple[str, ...]
    queries: int


def draw(read: ExploreSelection) -> None:
    """Draw the thumbnails of all heads, and the open heads."""
    with st.container(key=frame.PICTURE_FIRST_ON_PHONES):
        narrow, wide = st.columns([5, 7], gap="medium")
    tokens = traces.long_display_tokens(read.model, read.given, read.kind).groups
    blocks = traces.long_trace(read.model, read.given).of_kind(read.kind)
    layers, heads_total = len(blocks), blocks[0].shape[0]
    with narrow.container(border=True, key="slide-heads"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.header(f"All {layers * heads_total} heads", anchor=False, width="stretch")
            with st.popover("Select by number"):
                layer = LAYER.draw("Layer", layers, 1)
                head = HEAD.draw("Head", heads_total, 1)
                also = ALSO.draw("Also show heads", list(range(1, heads_total + 1)), placeholder="none")
        heads = Heads(layer, head, tuple(each for each in also if each != head))
        overview = st.container()
    with wide.container(border=True, key="slide-head"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.header(heads.title, anchor=False)
            style = VIEW.segments("Picture", list(_STYLES), "Matrix")
        query = _query(tokens)

        def on_pick(at: int | None, _key: int | None) -> None:
            if at is None:
                QUERY.forget()
            else:
                link.choose(QUERY, option(tokens[at]))

        model_name = lookup.display_name(read.model)
        long_head.draw(
            _source(read, tokens, layer),
            heads,
            heads_total,
            _STYLES[style],
            query,
            None,
            on_pick,
            note="one colour scale for all heads; nothing hidden, merged or rescaled; computed from queries "
            "and keys, and equal to the model’s own weights except for rounding",
            caption=f"{plural(len(tokens), 'token')} · {model_name} · head {heads.name} · weights",
            filename=f"{file_name_of(model_name)}-layer{layer}-head{head}-{style.lower()}",
        )
    with overview:  # last, because it takes some seconds
        _atlas(read, heads, layers, heads_total)
    max_tokens = traces.max_tokens(read.model)
    st.markdown(
        f":small[Filters, comparisons and arithmetic are limited to {max_tokens:,} tokens, because this "
        "model’s weights for longer texts would take too much memory.]"
    )


def _query(tokens: tuple[DisplayToken, ...]) -> int | None:
    """Return the index of the selected token; None if it is not in this text."""
    chosen = link.current(QUERY)
    number = chosen.split(" ", 1)[0]
    at = int(number) - 1 if number.isdecimal() else -1
    if not (0 <= at < len(tokens) and option(tokens[at]) == chosen):
        QUERY.forget()
        return None
    QUERY.set(chosen)
    return at


def _source(read: ExploreSelection, tokens: tuple[DisplayToken, ...], layer: int) -> long_head.Source:
    block = traces.long_trace(read.model, read.given).block(read.kind, layer - 1)
    where = (read.model, read.given, read.kind, layer)
    return long_head.Source(
        key=where[:3],
        queries=tokens,
        keys=tokens,
        kind="sequential",
        unit="percent",
        hidden="",
        rows=lambda head, places: rows_of(block, head - 1, places),
        shown_shares=lambda _head, places: np.ones(len(places), np.float32),
        high=lambda _head: 1.0,
        hidden_shares=lambda head: _summary(*where, head).hidden,
        overview=lambda head: _summary(*where, head).blocks,
    )


@cached()
def _summary(model: Entry, given: ModelInput, kind: Kind, layer: int, head: int) -> Summary:
    return summary(traces.long_trace(model, given).block(kind, layer - 1), head - 1)


@cached("Computing a thumbnail of each head …")
def _thumbnails(model: Entry, given: ModelInput, kind: Kind) -> _Thumbnails:
    blocks = traces.long_trace(model, given).of_kind(kind)
    heads, queries, keys = blocks[0].shape
    count = int(np.clip(_MAX_ATLAS_WEIGHTS // (len(blocks) * heads * keys), 32, queries))
    places = np.unique(np.linspace(0, queries - 1, count).astype(int)).tolist()
    pictures, facts = [], []
    for block in blocks:
        allowed = block.allowed(places)
        for head in range(heads):
            rows = block.rows(head, places)
            levels = sequential(rows, mask=allowed).levels
            pictures.append(thumbnails(levels[None], "sequential")[0])
            facts.append(_fact(rows, places))
    return _Thumbnails(np.stack(pictures), tuple(facts), len(places))


def _fact(rows: Floats, places: list[int]) -> str:
    before = np.maximum(np.array(places) - 1, 0)
    parts = {
        "to the first token": rows[:, 0].mean(),
        "to the previous token": rows[np.arange(len(rows)), before].mean(),
        "to itself": rows[np.arange(len(rows)), places].mean(),
    }
    return "mean attention: " + ", ".join(f"{percent(float(part))} {name}" for name, part in parts.items())


def _atlas(read: ExploreSelection, heads: Heads, layers: int, heads_total: int) -> None:
    drawn = _thumbnails(read.model, read.given, read.kind)
    tokens = len(traces.long_trace(read.model, read.given).of_kind(read.kind)[0].query_tokens)
    atlas(
        "atlas",
        pixels=store.publish("pixels", {"thumbnails": drawn.pictures}),
        layers=layers,
        heads=heads_total,
        selected={"layer": heads.layer, "heads": heads.all},
        dim=[],
        facts=drawn.facts,
        kind="sequential",
        omitted="weights",
        on_pick=lambda layer, head: open_heads(layer, [head]),
    )
    if drawn.queries < tokens:
        st.markdown(f":small[Each thumbnail is computed from {drawn.queries:,} of the {tokens:,} queries.]")
