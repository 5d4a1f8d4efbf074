"""The generated text or the decoder's text, with a button for each token."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.analysis.display_tokens import visible_text
from attnviz.app import markdown, traces
from attnviz.app.explore import attention, expected, views
from attnviz.app.explore.linking import Tokens
from attnviz.app.explore.passage import passage
from attnviz.app.explore.reading import ExploreSelection
from attnviz.app.explore.views import View
from attnviz.app.state.choices import QUERY
from attnviz.trace import Token


def has_steps(read: ExploreSelection) -> bool:
    """Return whether there are decoder tokens with predictions to step through."""
    if read.trace.target is None:
        return read.given.writing is not None
    return expected.can_predict(read.model) and len(read.trace.of_kind("decoder")[0].query_tokens) > 1


def draw(view: View, tokens: Tokens) -> None:
    """Draw the text; each token is a button that opens the row of the previous token.

    The previous token's output predicted the token; the token itself is an input only in the next step.
    """
    trace = traces.trace(view.model, view.given)
    if trace.target is None and not trace.written:
        st.markdown(":small[The model ended the text without writing anything.]")
        return
    block = trace.of_kind("decoder")[0]
    sequence = block.query_tokens
    if trace.target is None:
        first, typed, text = len(sequence) - trace.written, view.given.text, trace.text
    else:
        first, typed, text = 1, "", trace.target
    shown = traces.shown(view.model, view.given, "decoder", view.hide, view.merge)[0]
    places = [shown.index_of(position - 1) for position in range(first, len(sequence))]
    current = None
    if view.kind != "encoder" and tokens.pair is not None:
        current = views.index_in(view, view.given, tokens.pair.query, "query")

    def pick(at: int) -> None:
        if view.kind == "encoder":
            attention.open_kind(view.model, "cross")
        place = places[at]
        if place is not None:
            QUERY.pick(shown.groups[place])
        if view.kind == "encoder":
            st.rerun()  # the control for the kind of attention, above this text, is already drawn

    chosen = places.index(current) if current in places and current is not None else None
    passage(
        "passage",
        typed=typed,
        tokens=pieces(sequence[first:], text, len(typed)),
        written=view.given.target is None,
        chosen=chosen,
        on_pick=pick,
    )
    if chosen is not None:
        before = markdown.code(shown.groups[places[chosen] or 0].label)
        st.markdown(
            f":small[The row of the previous token, {before}, is open below: its output predicts this token.]"
        )


def pieces(tokens: Sequence[Token], text: str, begin: int) -> list[str]:
    """Return each token's text with the space before it, or the name of a special token."""
    pieces = []
    for token in tokens:
        piece = text[begin : token.end] if token.end > begin else ""
        pieces.append(_visible(piece) or f" {token.text} ")
        begin = max(begin, token.end)
    return pieces


def _visible(piece: str) -> str:
    """Return the piece with visible control characters and unchanged spaces."""
    return "".join(letter if letter == " " else visible_text(letter) for letter in piece)
