"""The lesson "Cross-attention": weights between two texts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.sentence import names_of, quiz_options
from attnviz.app import controls, markdown
from attnviz.app.lessons import choosing
from attnviz.app.lessons.computed import cached_bert
from attnviz.app.lessons.cross_attention import values
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.state.choices import CROSS_QUERY, CROSS_VIEW, READER
from attnviz.app.weights_picture import shown_tokens, weights_picture
from attnviz.text import isolated
from attnviz.trace import Block, Floats

OPENING_READER = "A hound was too tired to walk over the street."
NUM_LISTED = 3  # every text has at least [CLS], one token and [SEP]
MAX_OPTIONS = 4
CODE = (
    ("attnviz.app.lessons.cross_attention.values", "cross", "attend"),
    ("attnviz.transformer.attention", "scaled_dot_product_attention"),
)

_cross = cached_bert(values.cross)


@dataclass(frozen=True)
class Reading:
    """Two texts, and the index of a query token, from 0."""

    reader: str
    source: str
    query: int

    @cached_property
    def block(self) -> Block:
        """The cross-attention, as a block with one head."""
        return _cross(self.reader, self.source)

    @cached_property
    def queries(self) -> DisplayTokens:
        """The reader's tokens."""
        return DisplayTokens(self.block.query_tokens, self.reader)

    @cached_property
    def keys(self) -> DisplayTokens:
        """The source's tokens."""
        return DisplayTokens(self.block.key_tokens, self.source)

    @cached_property
    def sorted_keys(self) -> list[values.KeyToken]:
        """The key tokens, in order of decreasing weight from the query."""
        return values.keys_by_weight(self.block, self.query)

    @property
    def weights(self) -> Floats:
        """Attention weights, [query, key]."""
        weights: Floats = self.block.weights[0]
        return weights

    @property
    def document_values(self) -> dict[str, Any]:
        """Values that several parts of the document use: sizes, the query and the largest weights."""
        n, m = self.weights.shape
        return {
            "n": n,
            "m": m,
            "width": self.block.value.shape[-1],
            "query": markdown.token(self.query, self.queries.groups),
            "keys": self.sorted_keys,
            "names": [markdown.token(key.place, self.keys.groups) for key in self.sorted_keys[:NUM_LISTED]],
        }


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("cross_attention") as page:
        with page.controls:
            reading = _choose(page)
        with page.picture:
            _picture(page, reading)
        totals = reading.weights.sum(axis=0)
        page.explain(**reading.document_values, minimum=float(totals.min()), maximum=float(totals.max()))
        _predict(page, reading)
        page.further(
            page.text_section("trained"),
            code=CODE,
        )


def _choose(page: LessonPage) -> Reading:
    """Draw the boxes for two texts, and the control for the query token."""
    left, middle, right = st.columns([5, 5, 3])
    with left:
        source = choosing.sentence(page.label("source"))
    with middle:
        reader = choosing.sentence(page.label("reader"), READER, OPENING_READER)
    with right:
        begin = controls.index_of_word("hound", choosing.tokens(reader))
        return Reading(reader, source, choosing.token(reader, page.label("query"), CROSS_QUERY, begin))


def _picture(page: LessonPage, reading: Reading) -> None:
    """Draw the weights."""
    n, m = reading.weights.shape
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.header(page.label("sizes", n=n, m=m), anchor=False, width="content")
        with st.container(width="content"):
            view = CROSS_VIEW.labelled_segments(page.label("view"), ("matrix", "lines"), page.label)

    def pick(query: int | None, _: int | None) -> None:
        if query is not None:
            CROSS_QUERY.pick(reading.queries.groups[query])

    weights_picture(
        "cross weights",
        reading.weights[None],
        shown_tokens(reading.block.query_tokens, reading.reader),
        shown_tokens(reading.block.key_tokens, reading.source),
        view="matrix" if view == "matrix" else "lines",
        query=reading.query,
        note=page.label("note") if view == "matrix" else "",
        caption=page.label("caption", reader=isolated(reading.reader), source=isolated(reading.source)),
        filename="attnviz-cross-attention",
        on_pick=pick,
    )


def _predict(page: LessonPage, reading: Reading) -> None:
    """Draw the question about the largest weight of the row."""
    names = names_of(reading.keys.groups)
    places = quiz_options(reading.weights[reading.query], reading.keys.groups, MAX_OPTIONS)
    options = [names[place] for place in places]
    ranked = [key for key in reading.sorted_keys if key.place in places]
    page.predict(
        **reading.document_values,
        options=options + [options[-1]] * (MAX_OPTIONS - len(options)),
        best=names[ranked[0].place],
        shares=markdown.shares((names[key.place], key.weight) for key in ranked),
    )
