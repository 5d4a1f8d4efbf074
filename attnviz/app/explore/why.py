"""Why this number? The two vectors, their product, the scale, and the softmax of the row, worked out."""

from __future__ import annotations

from typing import Any

import streamlit as st

from attnviz.analysis.arithmetic import WeightArithmetic, why
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
from attnviz.trace import Block, Token


def draw(view: View, heads: Heads, tokens: Tokens) -> None:
    """Work out the number between the two chosen tokens; in a change, both sentences' numbers."""
    if tokens.pair is None:
        st.header("Why this number?", anchor=False)
        st.markdown("Choose a query token, and its numbers are worked out here.")
        return
    if view.changed is None:
        _worked_out(view, heads, tokens, tokens.pair, view.given)
        return
    for column, given in zip(st.columns(2, gap="large"), (view.given, view.changed), strict=True):
        with column:
            _worked_out(view, heads, tokens, tokens.pair, given)


def _worked_out(view: View, heads: Heads, tokens: Tokens, pair: Pair, given: ModelInput) -> None:
    shown = traces.shown(view.model, given, view.kind, view.hide, view.merge, view.between)
    queries, keys = shown[0], shown[-1]
    block = traces.trace(view.model, given).block(view.kind, heads.layer - 1)
    query = views.own_place(view, given, pair.query, "query")
    key = views.own_place(view, given, pair.key, "key")
    if query is None or key is None:
        st.markdown(f"“{markdown.plain(given.text)}” has no such pair of tokens.")
        return
    try:
        worked = why(block, heads.head - 1, query, key, queries, keys)
    except AttnvizError as error:
        st.info(markdown.plain(str(error)))
        return

    def pick(position: int) -> None:
        index = keys.index_of(position)
        for column in range(len(tokens.keys)):
            if index is not None and views.own_place(view, given, column, "key") == index:
                tokens.choose_key(column)

    note = f"Head {heads.name}" + (f", in “{isolated(given.text)}”" if view.changed else "")
    if (dtype := view.model.dtype) != "float32":
        note += f". Worked out in float32; the model rounded the scores and the weight to {dtype}"
    content = message(worked, block, keys) | {
        "query_word": queries.labels[query]
        + _sign(queries, queries.tokens[queries.groups[query].positions[0]]),
        "key_word": keys.labels[key] + _sign(keys, keys.tokens[keys.groups[key].positions[0]]),
        "note": note,
    }
    arithmetic("why" if given == view.given else "why in the other sentence", content, on_pick=pick)


def message(worked: WeightArithmetic, block: Block, keys: DisplayTokens) -> dict[str, Any]:
    """The worked-out number of a layer's block as the browser widget wants it: plain, to the last bit."""
    visible = {position for group in keys.groups for position in group.positions}
    # A token on its own has the name that the picture gives it; the pieces of a merged word have their own.
    names = {g.positions[0]: g.label for g in keys.all_groups if len(g.positions) == 1}
    row = [
        {
            "label": names.get(position, token.text) + _sign(keys, token),
            "score": float(score),
            "exponential": float(exponential),
            "weight": float(exponential / worked.softmax.total),
            "masked": not open_cell,
            "hidden": position not in visible,
        }
        for position, (token, score, exponential, open_cell) in enumerate(
            zip(block.key_tokens, worked.score_row, worked.softmax.exponentials, worked.mask_row, strict=True)
        )
    ]
    sink = None
    if worked.softmax.sink is not None:
        share = worked.softmax.sink / worked.softmax.total
        sink = {"score": worked.sink, "exponential": worked.softmax.sink, "weight": share}
    return {
        "query_label": block.query_tokens[worked.query_position].text
        + _sign(keys, block.query_tokens[worked.query_position]),
        "key_label": block.key_tokens[worked.key_position].text
        + _sign(keys, block.key_tokens[worked.key_position]),
        "query_vector": worked.query_vector.tolist(),
        "key_vector": worked.key_vector.tolist(),
        "products": worked.products.tolist(),
        "dot_product": float(worked.dot_product),
        "d_head": len(worked.products),
        "scale": float(worked.scale),
        "bias": None if worked.bias is None else float(worked.bias),
        "cap": worked.cap,
        "scaled": worked.scaled,
        "score": float(worked.score),
        "masked": not worked.mask_row[worked.key_position],
        "position": worked.key_position,
        "row": row,
        "sink": sink,
        "row_maximum": worked.softmax.largest,
        "row_sum": worked.softmax.total,
        "weight": float(worked.weight),
        "last_steps": _last_steps(worked, keys),
        "result": float(worked.shown_weight),
    }


def _sign(shown: DisplayTokens, token: Token) -> str:
    """The sentence of a token in a pair: both may have the same word."""
    return "" if shown.second is None else SENTENCES[token.sentence]


def _last_steps(worked: WeightArithmetic, keys: DisplayTokens) -> list[list[Any]]:
    """What merging and hiding did to the weight, with the numbers."""
    steps: list[list[Any]] = []
    if worked.piece_weights.size > 1:
        steps.append(_merging(worked))
    if keys.hides:
        steps.append(
            [
                f"Rescaled without the hidden tokens{' and the sink' if worked.sink is not None else ''}: ",
                _percent(worked.merged_weight),
                " ÷ (1 − ",
                {"value": float(worked.hidden_share), "as": "number"},
                ") = ",
                _percent(worked.shown_weight),
            ]
        )
    return steps


def _merging(worked: WeightArithmetic) -> list[Any]:
    """(a + b + c + d) ÷ 2 = …: the sum over the key's pieces, the mean over the query's."""
    step: list[Any] = ["Merged into words: ("]
    for number, weight in enumerate(worked.piece_weights.ravel()):
        step += [" + " if number else "", _percent(float(weight))]
    queries = len(worked.piece_weights)
    step += [f") ÷ {queries} = " if queries > 1 else ") = ", _percent(worked.merged_weight)]
    return step


def _percent(value: float) -> dict[str, Any]:
    return {"value": float(value), "as": "percent"}
