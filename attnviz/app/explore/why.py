"""The arithmetic of one weight: query and key vectors, dot product, scale, and softmax of the row."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.arithmetic import weight_arithmetic
from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.app import markdown, traces
from attnviz.app.components.arithmetic import arithmetic
from attnviz.app.explore import views
from attnviz.app.explore.choices import Heads
from attnviz.app.explore.linking import Pair, Tokens
from attnviz.app.explore.views import SENTENCES, View
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.text import isolated
from attnviz.trace import Token


def draw(view: View, heads: Heads, tokens: Tokens) -> None:
    """Draw the arithmetic of the weight between the selected tokens; in a comparison, for both sentences."""
    if tokens.pair is None:
        st.header("How is this number computed?", anchor=False)
        st.markdown("Choose a query token to see how its weights are computed.")
        return
    if view.changed is None:
        _draw_arithmetic(view, heads, tokens.pair, view.given)
        return
    for column, given in zip(st.columns(2, gap="large"), (view.given, view.changed), strict=True):
        with column:
            _draw_arithmetic(view, heads, tokens.pair, given)


def _draw_arithmetic(view: View, heads: Heads, pair: Pair, given: ModelInput) -> None:
    shown = traces.shown(view.model, given, view.kind, view.hide, view.merge, view.between)
    queries, keys = shown[0], shown[-1]
    block = traces.trace(view.model, given).block(view.kind, heads.layer - 1)
    query = views.index_in(view, given, pair.query, "query")
    key = views.index_in(view, given, pair.key, "key")
    if query is None or key is None:
        st.markdown(f"“{markdown.plain(given.text)}” does not contain both selected tokens.")
        return
    try:
        computed = weight_arithmetic(block, heads.head - 1, query, key, queries, keys)
    except AttnvizError as error:
        st.info(markdown.plain(str(error)))
        return

    note = f"Head {heads.name}" + (f", in “{isolated(given.text)}”" if view.changed else "")
    if (dtype := view.model.dtype) != "float32":
        note += f". Computed in float32; the model rounded the scores and the weight to {dtype}"
    # Single tokens are named as in the picture; pieces of a merged word keep their own names.
    names = {g.positions[0]: g.label for g in keys.all_groups if len(g.positions) == 1}
    shown_keys = {position for group in keys.groups for position in group.positions}
    arithmetic(
        computed,
        [
            names.get(at, token.text) + _sign(keys, token) + ("" if at in shown_keys else " (hidden)")
            for at, token in enumerate(block.key_tokens)
        ],
        queries.labels[query] + _sign(queries, queries.tokens[queries.groups[query].positions[0]]),
        keys.labels[key] + _sign(keys, keys.tokens[keys.groups[key].positions[0]]),
        note,
    )


def _sign(shown: DisplayTokens, token: Token) -> str:
    """Return the mark of the token's sentence, which distinguishes equal words; "" without a pair."""
    return "" if shown.second is None else SENTENCES[token.sentence]
