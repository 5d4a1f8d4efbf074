"""The lesson "Multi-head attention": heads side by side, and each head's part of the output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from attnviz.analysis.sentence import name_of, names_of
from attnviz.app.components.component import mount
from attnviz.app.lessons.choosing import HeadSelection, head_selection
from attnviz.app.lessons.computed import MODEL, computed
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.many_heads import values
from attnviz.app.state.choices import HEAD, HEADS_OF_384
from attnviz.models import catalogue

CODE = (
    ("attnviz.transformer.multi_head", "MultiHeadAttention", "split_heads", "join_heads"),
    ("attnviz.app.lessons.many_heads.values", "head_shares", "cut", "multiply_adds"),
)

_MODEL = catalogue.entry(MODEL)
HEADS = tuple(heads for heads in range(1, _MODEL.heads + 1) if _MODEL.d_model % heads == 0)
_DIGITS = 6  # enough for every printed digit; whole floats would double the message

_at_token, _costs = computed(values.at_token), computed(values.costs)
_sizes = computed(values.known_sizes)


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("many_heads") as page:
        with page.controls:
            chosen = head_selection()
        with page.picture:
            heads = _picture(page, chosen)
        page.explain()
        trained = _costs(_MODEL.d_model, HEADS, len(chosen.groups))[-1]
        page.predict(
            heads=trained.heads,
            d_head=trained.d_head,
            d_model=_MODEL.d_model,
            multiply_adds=f"{trained.multiply_adds:,}",
            parameters=f"{trained.parameters:,}",
            of_sentence=False,
        )
        page.further(
            page.section("steps", _steps, chosen, heads),
            page.section("cost", _cost, len(chosen.groups)),
            page.section("sizes", _models),
            code=CODE,
        )


def _picture(page: LessonPage, chosen: HeadSelection) -> int:
    """Draw each head's part of the output; return the number of heads."""
    token = name_of(chosen.query, chosen.groups)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(page.label("heads"), width="content")
        options = [str(heads) for heads in HEADS]
        heads = int(HEADS_OF_384.segments(page.label("heads"), options, str(_MODEL.heads)))
    if heads != _MODEL.heads:
        st.info(page.label("untrained", trained=_MODEL.heads, heads=heads), icon=":material/content_cut:")
    shares(
        "many_heads shares",
        query=token,
        tokens=names_of(chosen.groups),
        shown=_at_token(chosen.text, chosen.layer, chosen.query, heads),
        selected=min(chosen.head, heads - 1),
        on_pick=lambda head: HEAD.set(head + 1),
    )
    return heads


def _steps(page: LessonPage, chosen: HeadSelection, heads: int) -> None:
    d_head, head = _MODEL.d_model // heads, min(chosen.head, heads - 1)
    page.text(
        "steps",
        d_model=_MODEL.d_model,
        d_head=d_head,
        heads=heads,
        head=head + 1,
        first=head * d_head + 1,
        last=(head + 1) * d_head,
    )


def _cost(page: LessonPage, tokens: int) -> None:
    costs = [
        {
            "heads": cost.heads,
            "d_head": cost.d_head,
            "parameters": f"{cost.parameters:,}",
            "multiply_adds": f"{cost.multiply_adds:,}",
            "weights": f"{cost.weights:,}",
        }
        for cost in _costs(_MODEL.d_model, HEADS, tokens)
    ]
    page.text("cost", costs=costs, tokens=tokens)


def _models(page: LessonPage) -> None:
    sizes = [
        {
            "name": size.name,
            "d_model": size.d_model,
            "heads": size.heads,
            "d_head": size.d_head,
            "d_feed_forward": size.d_feed_forward,
            "times": f"{size.d_feed_forward / size.d_model:g}",
            "layers": size.layers,
            "attention": f"{size.attention:,}",
            "layer": f"{size.layer:,}",
            "everything": f"{size.everything:,}",
        }
        for size in _sizes()
    ]
    page.text("sizes", sizes=sizes)


def shares(
    key: str,
    /,
    *,
    query: str,
    tokens: Sequence[str],
    shown: values.HeadShares,
    selected: int,
    on_pick: Callable[[int], None],
) -> None:
    """Draw a row for each head; a click, Enter or Space on a row picks its head.

    Args:
        query: the name of the query token.
        tokens: the names of the key tokens, in order.
        shown: the heads' parts.
        selected: the marked head, with its arithmetic, from 0.
        on_pick: called with the head, from 0.
    """
    message = {
        "query": query,
        "tokens": tokens,
        "weights": shown.weights.round(_DIGITS),
        "pieces": shown.concatenated.round(_DIGITS),
        "lengths": shown.lengths.round(_DIGITS),
        "cosines": shown.cosines.round(_DIGITS),
        "shares": shown.shares.round(_DIGITS),
        "bias": [shown.bias_length, shown.bias_cosine, shown.bias_share],
        "output": shown.output.round(_DIGITS),
        "output_length": shown.output_length,
        "selected": selected,
    }
    mount("shares", key, message, on_pick=on_pick)
