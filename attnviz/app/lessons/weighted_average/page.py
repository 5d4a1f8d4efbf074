"""The lesson "Attention as a weighted average": weights, vectors, and their weighted sum."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken, visible_text
from attnviz.app import controls, markdown
from attnviz.app.components import store
from attnviz.app.components.steps import array_info, column, steps
from attnviz.app.lessons.choosing import sentence
from attnviz.app.lessons.computed import MODEL, cached_bert
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.weighted_average import values
from attnviz.app.state.choices import QUERY, SCORING, SOFTMAX_TEMPERATURE, SPLIT
from attnviz.app.weights_picture import shown_tokens, weights_picture
from attnviz.capture import loading
from attnviz.text import isolated
from attnviz.widgets.tokens import ShownToken

SCORES = (*values.SCORES, values.ADDITIVE)
TEMPERATURES = ("0", "0.01", "0.03", "0.1", "0.3", "1", "3", "10", "30", "100", "∞")
SPLITS = (values.CHARACTERS, values.WORDS, values.WORD_PIECES, values.BYTES)
CODE = (
    (
        "attnviz.app.lessons.weighted_average.values",
        *("attention_without_parameters", "weighted_average", "softmax"),
        *("dot_product", "scaled_dot_product", "cosine", "Additive", "split"),
    ),
)

_MAX_NUMBERS = 32  # maximum number of entries of a vector in the picture
_MAX_ROWS = 20  # maximum number of tokens in the picture
_MAX_PIECES = 60
_MAX_CHARACTERS = 300  # maximum number of characters of the decoded text

_ARRAYS = {
    "weights": array_info("weight", "", "weights", "w", "the weights", "numbers"),
    "vectors": array_info("token", "", "value", "x", "the tokens’ vectors"),
    "output": array_info("mix", "weights vectors", "value", "weighted average x′", "the weighted average"),
}

_average, _single_query_difference = cached_bert(values.average), cached_bert(values.single_query_difference)
_split = cached_bert(values.split)


@dataclass(frozen=True)
class _Chosen:
    """A sentence, the selected query, the scoring function and the temperature."""

    text: str
    tokens: tuple[DisplayToken, ...]
    query: int
    scoring: str
    temperature: str

    @property
    def temperature_value(self) -> float:
        return inf if self.temperature == "∞" else float(self.temperature)

    def average(self, scoring: str | None = None) -> values.Average:
        return _average(self.text, scoring or self.scoring, self.temperature_value)

    def name(self, place: int | None = None) -> markdown.Markdown:
        return markdown.token(self.query if place is None else place, self.tokens)

    def pick(self, place: int) -> None:
        QUERY.pick(self.tokens[place])


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("weighted_average") as page:
        with page.controls:
            left, right = st.columns([3, 1])
            with left:
                text = sentence()
            tokens = values.sentence_tokens(text)
            with right:
                query = controls.token(tokens, text, page.label("query"))
        with page.picture:
            chosen = _Chosen(text, tokens, query, *_controls(page))
            _picture(page, chosen)
        page.explain(d_model=chosen.average().vectors.shape[1], shown=_MAX_NUMBERS)
        plain = _average(text, SCORES[0], 1.0).weights[query]
        page.predict(
            tokens=len(plain), query=chosen.name(), largest=float(plain.max()), uniform=1 / len(plain)
        )
        page.further(
            page.text_section("scores", hidden=values.HIDDEN, d_model=chosen.average().vectors.shape[1]),
            page.section("matrix", _matrix, chosen),
            page.section("tokens", _tokens, text).with_choices(SPLIT),
            code=CODE,
        )


def _controls(page: LessonPage) -> tuple[str, str]:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        scoring = SCORING.segments(page.label("scoring"), SCORES)
        temperature = SOFTMAX_TEMPERATURE.slide(
            page.label("temperature"), TEMPERATURES, "1", help=page.label("temperature_help"), width=240
        )
    return scoring, temperature


def _picture(page: LessonPage, chosen: _Chosen) -> None:
    """Draw the weights, the vectors and their weighted sum; of a long text, only the largest weights."""
    found = chosen.average()
    weights, vectors = found.weights[chosen.query], found.vectors[:, :_MAX_NUMBERS]
    rows = np.arange(len(weights))
    if len(rows) > _MAX_ROWS:
        largest = np.argsort(-weights, kind="stable")
        rows = np.sort(np.unique([chosen.query, *largest[: _MAX_ROWS - 1]]))
    others = np.setdiff1d(np.arange(len(weights)), rows)
    source = store.publish(
        "average arrays",
        {
            "weights": weights[rows],
            "vectors": vectors[rows],
            "output": found.output[chosen.query, :_MAX_NUMBERS],
            "rest": weights[others] @ vectors[others],
        },
    )
    every = _names(chosen)
    steps(
        "average",
        source=source,
        step=1,
        steps=[
            {
                "title": "",
                "formula": "",
                "sentence": "",
                "lane": "",
                "columns": [column("bars", rows=["weights"]), column(rows=["vectors"], bottom=["output"])],
            }
        ],
        arrays=_ARRAYS,
        keep_open=False,
        tokens=[every[row] for row in rows],
        query=int(np.flatnonzero(rows == chosen.query)[0]),
        rest={"count": len(others)} if len(others) else None,
        origin=page.label("origin"),
        omitted=page.label("excluded"),
    )
    if len(others):
        st.caption(page.label("rest", rows=len(rows), weight=float(weights[others].sum())))
    st.caption(page.label("numbers", shown=_MAX_NUMBERS, d_model=found.vectors.shape[1]))


def _names(chosen: _Chosen) -> list[ShownToken]:
    every = shown_tokens(loading.tokens(MODEL, chosen.text), chosen.text)
    return [every[group.positions[0]] for group in chosen.tokens]


def _matrix(page: LessonPage, chosen: _Chosen) -> None:
    """Draw the weights of all queries."""
    names = _names(chosen)
    explanation, drawn = st.columns([5, 7], gap="large")
    with explanation:
        page.text(
            "matrix",
            query=chosen.name(),
            difference=_single_query_difference(
                chosen.text, chosen.scoring, chosen.temperature_value, chosen.query
            ),
        )

    def pick(row: int | None, _: int | None) -> None:
        if row is not None:
            chosen.pick(row)

    with drawn:
        weights_picture(
            "weighted average matrix",
            chosen.average().weights[None],
            names,
            names,
            view="matrix",
            query=chosen.query,
            heading=page.label("matrix", scoring=chosen.scoring, temperature=chosen.temperature),
            note=page.label("matrix_note"),
            filename="weighted-average",
            on_pick=pick,
        )


def _tokens(page: LessonPage, text: str) -> None:
    """Draw a table of the text's tokens."""
    page.text("tokens")
    kind = SPLIT.segments(page.label("split"), SPLITS, values.WORD_PIECES)
    found = _split(kind, text)
    shown = found.pieces[:_MAX_PIECES]
    labels = [page.label(name) for name in ("token", "id", "characters")]
    lines = [f"| {' | '.join(labels)} |", "|:--|--:|--:|"]
    for piece in shown:
        name = markdown.code(isolated(visible_text(piece.text.replace(" ", "␣"))).replace("|", "∣"))
        lines.append(f"| {name} | {piece.id} | {piece.start}–{piece.end} |")
    st.markdown("\n".join(lines))
    decoded = visible_text(found.decoded)
    page.text(
        "split",
        tokens=len(found.pieces),
        pairs=f"{len(found.pieces) ** 2:,}",
        vocabulary=f"{found.vocabulary:,}",
        back=decoded if len(decoded) <= _MAX_CHARACTERS else f"{decoded[:_MAX_CHARACTERS]}…",
    )
