"""The lesson "Queries, keys and values": six steps for one token in one head, with their matrices."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import name_of, quiz_options
from attnviz.app.components import store
from attnviz.app.components.head_map import head_map
from attnviz.app.components.steps import ArrayInfo, Column, DrawnStep, array_info, column, steps
from attnviz.app.lessons.choosing import HeadSelection, head_selection
from attnviz.app.lessons.computed import cached_bert
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.query_key_value import values
from attnviz.app.markdown import token
from attnviz.app.state.choices import CONVENTION, STEP
from attnviz.app.weights_picture import shown_tokens
from attnviz.text import percent

CODE = (
    ("attnviz.app.lessons.query_key_value.values", "walk", "six_steps", "head_projection"),
    ("attnviz.transformer.attention", "scaled_dot_product_attention"),
)

_STEPS = ("1", "2", "3", "4", "5", "6")
_ROWS, _COLUMNS = "rows", "columns"
_HEAD_ARRAYS = (
    *("vector", "query", "output", "query_matrix", "key_matrix", "value_matrix"),
    *("query_bias", "key_bias", "value_bias"),
)
_KEY_ARRAYS = ("vectors", "keys", "values", "dot_products", "scores", "weights")

_walk = cached_bert(values.walk)


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("query_key_value") as page:
        with page.controls:
            chosen = head_selection()
        walk = _walk(chosen.text, chosen.layer, chosen.head, chosen.query)
        with page.picture:
            _picture(page, chosen, walk)
        page.explain()
        best = walk.by_weight[0]
        options = [
            {"mark": "x" if key == best else " ", "name": name_of(key, chosen.groups)}
            for key in quiz_options(walk.weights, chosen.groups)
        ]
        page.predict(
            head=chosen.head_name,
            layer=chosen.layer + 1,
            number=chosen.head + 1,
            query=chosen.name,
            options=options,
            best=token(best, chosen.groups),
            weight=float(walk.weights[best]),
            score=float(walk.scores[best]),
        )
        page.further(
            page.section("three", _three, chosen, walk),
            page.section("convention", _convention, chosen, walk).with_choices(CONVENTION),
            code=CODE,
        )


def _picture(page: LessonPage, chosen: HeadSelection, walk: values.Walk) -> None:
    step = STEP.segments("Step", _STEPS, _STEPS[1])  # hidden, because the picture has its own buttons
    rows, count = walk.rows, len(walk.tokens)
    others = np.setdiff1d(np.arange(count), rows)
    weight = float(walk.weights[others].sum(dtype=np.float64))
    source = store.publish(
        "walk arrays",
        {name: getattr(walk, name) for name in _HEAD_ARRAYS}
        | {name: getattr(walk, name)[rows] for name in _KEY_ARRAYS}
        | {"rest": walk.weights[others] @ walk.values[others]},
        largest=walk.softmax.largest,
        sum=walk.softmax.total,
    )
    tokens, labels = shown_tokens(walk.tokens, chosen.text), _labels(chosen.groups, rows)
    steps(
        "walk",
        source=source,
        step=int(step),
        steps=_steps(page, chosen, walk),
        arrays=_arrays(page),
        keep_open=False,
        tokens=[tokens[row] | {"label": label} for row, label in zip(rows, labels, strict=True)],
        query=rows.index(walk.token),
        total=count,
        rest={"count": len(others)} if len(others) else None,
        origin=page.label("origin_later", layer=chosen.layer) if chosen.layer else page.label("origin_first"),
        on_step=lambda step: STEP.set(str(step)),
    )
    if len(others):
        st.caption(page.label("rest", rows=len(rows), count=count, weight=weight))


_KEYS = column(top=["query"], rows=["keys"])
_NUMBERS = [column("numbers", rows=["dot_products"]), column("numbers", rows=["scores"])]
_WEIGHTS = column("bars", rows=["weights"])


def _columns() -> list[list[Column]]:
    """Return the columns of each step."""
    return [
        [column(rows=["vectors"])],
        [
            column(rows=["vectors"]),
            column(top=["query_matrix", "query_bias"], rows=["query"]),
            column(top=["key_matrix", "key_bias"], rows=["keys"]),
            column(top=["value_matrix", "value_bias"], rows=["values"]),
        ],
        [_KEYS, _NUMBERS[0]],
        [_KEYS, *_NUMBERS],
        [_KEYS, *_NUMBERS, _WEIGHTS],
        [_KEYS, *_NUMBERS, _WEIGHTS, column(rows=["values"], bottom=["output"])],
    ]


def _arrays(page: LessonPage) -> dict[str, ArrayInfo]:
    """Return the formula and the drawing style of each array."""
    parameters = [
        (f"{role}_{part}", "learned", "", role, f"{letter}_{role[0].upper()}")
        for role in ("query", "key", "value")
        for part, letter in (("matrix", "W"), ("bias", "b"))
    ]
    found = [
        ("vector", "token", "", "plain", "x"),
        ("vectors", "token", "", "plain", "X"),
        *parameters,
        ("query", "project", "vectors query_matrix query_bias", "query", "q"),
        ("keys", "project", "vectors key_matrix key_bias", "key", "K"),
        ("values", "project", "vectors value_matrix value_bias", "value", "V"),
        ("dot_products", "dot", "query keys", "plain", "q·k"),
        ("scores", "scale", "dot_products query", "plain", "score"),
        ("weights", "softmax", "scores", "weights", "weight"),
        ("output", "mix", "weights values", "value", "output"),
    ]
    return {
        name: array_info(
            op,
            of,
            role,
            symbol,
            page.label("array", name=name.replace("_", " ")),
            "numbers" if op in {"dot", "scale", "softmax"} else "matrix",
        )
        for name, op, of, role, symbol in found
    }


def _steps(page: LessonPage, chosen: HeadSelection, walk: values.Walk) -> list[DrawnStep]:
    """Return the title, the sentence and the columns of each step."""
    order = np.argsort(-walk.dot_products, kind="stable")
    best, worst, strongest = int(order[0]), int(order[-1]), walk.by_weight[0]

    def name(place: int) -> str:
        return f"“{name_of(place, chosen.groups)}”"

    shown = {
        "query": name(walk.token),
        "best": name(best),
        "worst": name(worst),
        "strongest": name(strongest),
        "best_dot": float(walk.dot_products[best]),
        "worst_dot": float(walk.dot_products[worst]),
        "best_score": float(walk.scores[best]),
        "weight": float(walk.weights[strongest]),
        "count": len(walk.tokens),
        "d_model": walk.d_model,
        "d_head": walk.d_head,
        "root": walk.d_head**0.5,
        "difference": walk.difference,
    }
    return [
        {
            "title": page.label(f"step{step}_title", **shown),
            "formula": "",
            "sentence": page.label(f"step{step}", **shown),
            "lane": "",
            "columns": columns,
        }
        for step, columns in zip(_STEPS, _columns(), strict=True)
    ]


def _other(walk: values.Walk) -> int:
    """Return the key with the largest weight, except the query itself."""
    return next(key for key in walk.by_weight if key != walk.token)


def _three(page: LessonPage, chosen: HeadSelection, walk: values.Walk) -> None:
    other = _other(walk)
    page.text(
        "three",
        head=chosen.head_name,
        query=chosen.name,
        key=token(other, chosen.groups),
        forth=float(walk.model_scores[walk.token, other]),
        back=float(walk.model_scores[other, walk.token]),
        heads=walk.d_model // walk.d_head,
        d_head=walk.d_head,
        d_model=walk.d_model,
    )


def _convention(page: LessonPage, chosen: HeadSelection, walk: values.Walk) -> None:
    """Draw the weights with queries as rows or as columns."""
    other = _other(walk)
    page.text(
        "convention", key=token(other, chosen.groups), received=float(walk.model_weights[:, other].sum())
    )
    convention = CONVENTION.segments(page.label("convention"), (_ROWS, _COLUMNS))
    rows, count = walk.rows, len(walk.tokens)
    weights = walk.model_weights[np.ix_(rows, rows)]
    others = walk.model_weights[rows].sum(axis=1, dtype=np.float64) - weights.sum(axis=1, dtype=np.float64)
    names = _labels(chosen.groups, rows)
    if len(rows) < count:
        weights = np.column_stack([weights, others])
    columns, keys, query = convention == _COLUMNS, names + ["…"] * (len(rows) < count), rows.index(walk.token)
    shown = np.asarray(weights.T if columns else weights, np.float32)
    head_map(
        "convention table",
        title=page.label(f"table_{convention}", head=chosen.head_name, rows=len(rows), count=count),
        values=shown,
        texts=[percent(weight, 1) for weight in shown.ravel().tolist()],
        printed=[percent(weight).removesuffix(" %") for weight in shown.ravel().tolist()],
        low=(0, "0 %"),
        high=(1, "100 %"),
        selected=(0, query) if columns else (query, 0),
        row_labels=keys if columns else names,
        column_labels=names if columns else keys,
    )


def _labels(groups: tuple[DisplayToken, ...], rows: list[int]) -> list[str]:
    """Return the labels of rows, with token numbers if some tokens have no row."""
    numbered = len(rows) < len(groups)
    return [f"{groups[row].number} {groups[row].label}" if numbered else groups[row].label for row in rows]
