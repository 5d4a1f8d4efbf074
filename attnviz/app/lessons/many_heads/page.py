"""The lesson "Multi-head attention": heads side by side, and each head's part of the output."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.sentence import name_of
from attnviz.app.components.share_table import share_table
from attnviz.app.lessons.choosing import HeadSelection, head_selection
from attnviz.app.lessons.computed import MODEL, cached_bert
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.many_heads import values
from attnviz.app.state.choices import HEAD
from attnviz.app.weights_picture import weights_picture
from attnviz.models import catalogue
from attnviz.text import signed_share
from attnviz.widgets.tokens import ShownToken, shown_tokens

CODE = (
    ("attnviz.transformer.multi_head", "MultiHeadAttention", "split_heads", "join_heads"),
    ("attnviz.app.lessons.many_heads.values", "head_shares", "multiply_adds"),
)

_MODEL = catalogue.entry(MODEL)
HEADS = tuple(heads for heads in range(1, _MODEL.heads + 1) if _MODEL.d_model % heads == 0)

_at_token, _costs = cached_bert(values.at_token), cached_bert(values.costs)


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("many_heads") as page:
        with page.controls:
            chosen = head_selection()
        with page.picture:
            _picture(page, chosen)
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
            page.section("steps", _steps, chosen),
            page.section("cost", _cost, len(chosen.groups)),
            page.text_section("sizes"),
            code=CODE,
        )


def _picture(page: LessonPage, chosen: HeadSelection) -> None:
    """Draw each head's weights and its part of the output."""
    shown, selected = _at_token(chosen.text, chosen.layer, chosen.query), chosen.head
    weights, shares = st.columns([7, 4], gap="medium")
    with weights:
        _weights(page, chosen, shown, selected)
    with shares:
        _shares(page, shown, selected)
    page.text(
        "share",
        head=selected + 1,
        length=float(shown.lengths[selected]),
        cosine=float(shown.cosines[selected]),
        output=shown.output_length,
        share=signed_share(float(shown.shares[selected])),
    )


def _weights(page: LessonPage, chosen: HeadSelection, shown: values.HeadShares, selected: int) -> None:
    """Draw the weights of the query in each head; a click on a row selects its head."""
    token = name_of(chosen.query, chosen.groups)
    rows: list[ShownToken] = []
    for head in range(1, len(shown.weights) + 1):
        label = page.label("head", head=head)
        name = page.label("token_in_head", token=token, head=head)
        rows.append({"label": label, "name": name, "title": name, "special": False})

    def pick(row: int | None, _: int | None) -> None:
        if row is not None:
            HEAD.set(row + 1)

    weights_picture(
        "heads of a token",
        shown.weights[None],
        rows,
        shown_tokens(chosen.groups),
        query=selected,
        heading=page.label("weights", token=token),
        row_axis=page.label("row_axis", token=token),
        filename="attnviz-heads-of-a-token",
        on_pick=pick,
    )


def _shares(page: LessonPage, shown: values.HeadShares, selected: int) -> None:
    """Draw the shares of the heads and the bias in the output; the shares sum to 100 %."""
    shares = [*shown.shares.tolist(), shown.bias_share]
    labels = [page.label("head", head=head) for head in range(1, len(shares))] + [page.label("bias")]
    share_table(
        "many_heads shares",
        title=page.label("shares"),
        row_kind="",
        columns=[page.label("shares")],
        rows=[
            {
                "place": "",
                "label": label,
                "shares": [share],
                "written": [signed_share(share)],
                "marked": at == selected,
            }
            for at, (label, share) in enumerate(zip(labels, shares, strict=True))
        ],
        measures=[{"label": page.label("sum"), "values": [signed_share(sum(shares))]}],
        full=max(map(abs, shares)) or 1,
    )


def _steps(page: LessonPage, chosen: HeadSelection) -> None:
    d_head, head = _MODEL.d_head, chosen.head
    page.text(
        "steps",
        d_model=_MODEL.d_model,
        d_head=d_head,
        heads=_MODEL.heads,
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
