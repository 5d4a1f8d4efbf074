"""The lesson "Scaling by √d": dot products of random vectors, without and with the division."""

from __future__ import annotations

from math import exp, sqrt

import streamlit as st

from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.components.share_table import share_table
from attnviz.app.lessons.computed import MODEL, cached_bert
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.scale import values
from attnviz.app.state.choices import D_HEAD, VECTORS_SEED
from attnviz.models import catalogue

SIZES = tuple(2**power for power in range(11))
NUM_PAIRS = 200  # so few that the sampling error is visible
NUM_KEYS = 8  # uniform weights have an entropy of exactly 3 bits
MODEL_D = catalogue.entry(MODEL).d_head
CODE = (
    ("attnviz.transformer.attention", "scaled_dot_product_attention"),
    ("attnviz.app.lessons.scale.values", "variances", "standard_error", "compare"),
    ("attnviz.analysis.entropy", "bits"),
    ("attnviz.app.lessons.scale.values", "jacobian", "derivative"),
)

_variances, _row = cached_bert(values.variances), cached_bert(values.row)


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("scale") as page:
        with page.picture:
            d, seed = _controls(page)
            _picture(page, d, seed)
        page.explain(e10=f"{exp(10):,.0f}")
        measured = _variances(SIZES, NUM_PAIRS, VECTORS_SEED.default)[0][SIZES.index(MODEL_D)]
        page.predict(of_sentence=False, d=MODEL_D, root=sqrt(MODEL_D), draws=NUM_PAIRS, measured=measured)
        page.further(
            page.text_section("learning", d=d, keys=NUM_KEYS, row=_row(d, SIZES[-1], NUM_KEYS, seed)),
            code=CODE,
        )


def _controls(page: LessonPage) -> tuple[int, int]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        d = D_HEAD.slide(page.label("d"), SIZES, MODEL_D)
        with st.container(width=120):
            seed = VECTORS_SEED.draw(page.label("seed"))
        st.button(page.label("new_seed"), icon=":material/casino:", on_click=_increment_seed)
    return d, seed


def _increment_seed() -> None:
    VECTORS_SEED.set((VECTORS_SEED.get(0) + 1) % (VECTORS_SEED.maximum + 1))


def _picture(page: LessonPage, d: int, seed: int) -> None:
    variances, errors = _variances(SIZES, NUM_PAIRS, seed)
    row = _row(d, SIZES[-1], NUM_KEYS, seed)
    variance, error = float(variances[SIZES.index(d)]), float(errors[SIZES.index(d)])
    left, right = st.columns(2, gap="medium")
    with left:
        st.header(page.label("variance_title"), anchor=False)
        theory = Line(page.label("theory"), SIZES, SIZES, dash="dash", colour="muted")
        measured = Line(
            page.label("measured"),
            SIZES,
            variances,
            variances - 2 * errors,
            variances + 2 * errors,
            dash=None,
            marker="circle",
        )
        curves(
            "variance",
            [theory, measured],
            title=page.label("variance_title"),
            x_axis=Axis(page.label("d_axis"), log=2, at="d = {x}"),
            y_axis=Axis(page.label("variance_axis"), log=10),
            marked=d,
            alt=page.label("variance_alt", d=d, variance=variance),
        )
    with right:
        title = page.label("row_title", keys=NUM_KEYS, d=d)
        st.header(title, anchor=False)
        weights = zip(row.plain.weights.tolist(), row.scaled.weights.tolist(), strict=True)
        entropies = [f"{each.entropy:.2f}" for each in (row.plain, row.scaled)]
        share_table(
            "random row",
            row_kind="key",
            title=title,
            about=page.label("row_about", seed=seed),
            columns=(page.label("weight_without"), page.label("weight_with")),
            rows=[
                {
                    "label": page.label("key", number=number),
                    "place": "",
                    "score": float(dot_product),
                    "shares": shares,
                }
                for number, (dot_product, shares) in enumerate(
                    zip(row.dot_products, weights, strict=True), start=1
                )
            ],
            measures=[{"label": page.label("entropy_row"), "values": entropies}],
        )
        page.text(
            "row",
            d=d,
            variance=variance,
            error=error,
            without=float(row.plain.weights.max()),
            with_scale=float(row.scaled.weights.max()),
        )
