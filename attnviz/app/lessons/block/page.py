"""The lesson "The block": one token's vector in one layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from attnviz.analysis.sentence import name_of
from attnviz.app.components import store
from attnviz.app.components.steps import DrawnStep, array_info, column, steps
from attnviz.app.lessons import choosing
from attnviz.app.lessons.block import values
from attnviz.app.lessons.computed import cached_bert
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.state.choices import STAGE_IN_BLOCK

STEPS = STAGE_IN_BLOCK.maximum
CODE = (
    ("attnviz.transformer.layers", "EncoderLayer"),
    ("attnviz.transformer.add_norm", "AddNorm"),
    ("attnviz.transformer.feed_forward", "FeedForward"),
    ("attnviz.app.lessons.block.values", "walk_through"),
)
# Symbol of each vector and, for a sum, the names of its two terms.
_VECTORS = {
    "layer_input": ("x", ""),
    "attention": ("a", ""),
    "first_sum": ("x + a", "layer_input attention"),
    "after_attention": ("y", ""),
    "expanded": ("y W₁ + b₁", ""),
    "activated": ("GELU", ""),
    "feed_forward": ("f", ""),
    "second_sum": ("y + f", "after_attention feed_forward"),
    "layer_output": ("z", ""),
}

_walk = cached_bert(values.walk)


@dataclass(frozen=True)
class TokenInLayer(choosing.TokenSelection):
    """A token and a layer, from 0."""

    layer: int


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("block") as page:
        with page.controls:
            chosen, step = _choose(page)
        walk = _walk(chosen.text, chosen.layer, chosen.query)
        with page.picture:
            _picture(page, chosen, walk, step)
        named: dict[str, Any] = {
            "token": chosen.name,
            "layer": chosen.layer + 1,
            "size": len(walk.norms[0].gain),
        }
        page.explain(**named, **walk.vectors)
        vector, update = walk.vectors["layer_input"].length, walk.vectors["attention"].length
        page.predict(**named, vector=vector, update=update)
        page.further(
            page.section("parts", _parts, walk),
            page.text_section(
                "why",
                **named,
                wide=len(walk.vectors["expanded"].values),
                first=walk.norms[0],
                second=walk.norms[1],
            ),
            code=CODE,
        )


def _choose(page: LessonPage) -> tuple[TokenInLayer, int]:
    """Draw the controls for a sentence, a layer, a token and a step."""
    sentence_column, layer_column, token_column = st.columns([5, 2, 3])
    with sentence_column:
        text = choosing.sentence()
    with layer_column:
        layer = choosing.layer()
    with token_column:
        token = choosing.token(text, page.label("token"))
    # lesson.css hides the control for the step, because the picture has buttons for the steps.
    return TokenInLayer(text, token, layer), STAGE_IN_BLOCK.draw(page.label("step"))


def _picture(page: LessonPage, chosen: TokenInLayer, walk: values.Walk, step: int) -> None:
    """Draw the steps of the layer; hovering over a number selects its index in all vectors of equal size."""
    arrays = {name: vector.values for name, vector in walk.vectors.items()}
    steps(
        "stream",
        source=store.publish("stream arrays", arrays),
        step=step,
        steps=_steps(page, chosen, walk.tokens),
        arrays={
            name: array_info("add" if terms else "value", terms, "plain", symbol, symbol, "wrapped")
            for name, (symbol, terms) in _VECTORS.items()
        },
        keep_open=True,
        on_step=STAGE_IN_BLOCK.set,
        facts={name: _facts(page, name, vector) for name, vector in walk.vectors.items()},
        reach=walk.reach,
    )


def _steps(page: LessonPage, chosen: TokenInLayer, tokens: int) -> list[DrawnStep]:
    """Return the seven steps; attention and the feed-forward network branch off the residual stream."""
    token = name_of(chosen.query, chosen.groups)

    def step(title: str, formula: str, about: str, *vectors: str) -> DrawnStep:
        return {
            "title": page.label(title, token=token),
            "formula": formula,
            "sentence": page.label(f"about_{about}", layer=chosen.layer + 1, tokens=tokens),
            "columns": [column(top=vectors)],
            "lane": "stream",
        }

    attention = step("attention", "a = MultiHead(x)", "attention", "attention")
    feed_forward = step(
        *("feed-forward", "f = GELU(y W₁ + b₁) W₂ + b₂", "feed-forward"),
        *("expanded", "activated", "feed_forward"),
    )
    return [
        {**step("input", "x", "input", "layer_input"), "splits": "attention"},
        {**attention, "lane": "attention"},
        {**step("add", "x + a", "first_add", "first_sum"), "merges": "attention"},
        {**step("norm", "y = LayerNorm(x + a)", "first_norm", "after_attention"), "splits": "feed-forward"},
        {**feed_forward, "lane": "feed-forward"},
        {**step("add", "y + f", "second_add", "second_sum"), "merges": "feed-forward"},
        step("norm", "z = LayerNorm(y + f)", "second_norm", "layer_output"),
    ]


def _facts(page: LessonPage, name: str, vector: values.Vector) -> list[dict[str, object]]:
    """Return the labelled numbers that are drawn below a vector."""
    numbers: dict[str, float] = {}
    if name == "activated":
        numbers = {"firing": int((vector.values > 0).sum()), "largest": float(vector.values.max())}
    elif vector.cosine is not None:
        numbers = {"length": vector.length, "mean": vector.mean, "cosine": vector.cosine}
        if name == "layer_input":
            del numbers["cosine"]
    return [{"label": page.label(part), "part": part, "value": value} for part, value in numbers.items()]


def _parts(page: LessonPage, walk: values.Walk) -> None:
    """Draw the table of the vectors that sum to the output."""
    output = walk.vectors["layer_output"].values
    parts = {
        name: (float(np.linalg.norm(part)), float(part @ output / (output @ output)))
        for name, part in walk.parts.items()
    }
    total = np.sum(list(walk.parts.values()), axis=0)
    page.text(
        "parts",
        parts=parts,
        total=float(np.linalg.norm(total)),
        difference=float(np.abs(total - output).max()),
    )
