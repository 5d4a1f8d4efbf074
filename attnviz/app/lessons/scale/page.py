"""The lesson "Scaling by √d": random vectors and a head of the bundled BERT, with and without it."""

from __future__ import annotations

from math import exp, log2, sqrt

import streamlit as st

from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.components.share_table import Row, share_table
from attnviz.app.lessons.choosing import head_selection
from attnviz.app.lessons.computed import MODEL, cached_bert
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.scale import values
from attnviz.app.markdown import code
from attnviz.app.state.choices import D_HEAD, HEAD, LAYER, QUERY, TEXT, VECTORS_SEED
from attnviz.app.weights_picture import shown_tokens
from attnviz.models import catalogue
from attnviz.trace import Floats

SIZES = tuple(2**power for power in range(11))
NUM_PAIRS = 200  # few enough for visible sampling error
NUM_KEYS = 8  # uniform weights have an entropy of exactly 3 bits
NUM_ROWS = 1000  # behind each median
MODEL_D = catalogue.entry(MODEL).d_head
MAX_KEYS = 16  # listed one by one
CODE = (
    ("attnviz.transformer.attention", "scaled_dot_product_attention"),
    ("attnviz.app.lessons.scale.values", "variances", "standard_error", "compare"),
    ("attnviz.analysis.entropy", "bits"),
    ("attnviz.app.lessons.scale.values", "jacobian", "derivative", "curves"),
)

_variances, _row = cached_bert(values.variances), cached_bert(values.row)
_curves, _in_bert = cached_bert(values.curves), cached_bert(values.in_bert)


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
            page.section("learning", _learning, d, seed),
            page.section("bert", _bert).with_choices(TEXT, LAYER, HEAD, QUERY),
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
            across=_size_axis(page),
            up=Axis(page.label("variance_axis"), log=10),
            marked=d,
            alt=page.label("variance_alt", d=d, variance=variance),
        )
    with right:
        title = page.label("row_title", keys=NUM_KEYS, d=d)
        st.header(title, anchor=False)
        keys = [page.label("key", number=number) for number in range(1, NUM_KEYS + 1)]
        about = page.label("row_about", seed=seed)
        _table(page, "random row", title, _rows(page, row, keys, numbered=False), row, about)
        page.text(
            "row",
            d=d,
            variance=variance,
            error=error,
            without=float(row.plain.weights.max()),
            with_scale=float(row.scaled.weights.max()),
        )


def _table(page: LessonPage, key: str, title: str, rows: list[Row], row: values.Row, about: str = "") -> None:
    """Draw dot products and weights of the keys of a row."""
    entropies = [f"{each.entropy:.2f}" for each in (row.plain, row.scaled)]
    share_table(
        key,
        of="key",
        title=title,
        about=about,
        columns=(page.label("weight_without"), page.label("weight_with")),
        rows=rows,
        measures=[{"label": page.label("entropy_row"), "values": entropies}],
    )


def _rows(page: LessonPage, row: values.Row, labels: list[str], *, numbered: bool) -> list[Row]:
    """Return the keys of a row in their order; of a long row the strongest ones, and the sum of the rest."""
    listed = values.strongest_keys(row, MAX_KEYS)
    pairs = list(zip(row.plain.weights.tolist(), row.scaled.weights.tolist(), strict=True))
    rows: list[Row] = [
        {
            "label": labels[key],
            "place": str(key + 1) if numbered else "",
            "score": float(row.dot_products[key]),
            "shares": pairs[key],
        }
        for key in listed
    ]
    rest = [pair for key, pair in enumerate(pairs) if key not in listed]
    if rest:
        sums = [sum(column) for column in zip(*rest, strict=True)]
        label = page.label("others", number=len(rest))
        rows.append({"label": label, "place": "", "score": None, "shares": sums})
    return rows


def _size_axis(page: LessonPage) -> Axis:
    return Axis(page.label("d_axis"), log=2, at="d = {x}")


def _learning(page: LessonPage, d: int, seed: int) -> None:
    """Draw the quartiles of entropy and gradient of many random rows."""
    entropy, gradient = _curves(SIZES, NUM_KEYS, NUM_ROWS, seed)
    charts, text = st.columns([7, 5], gap="large")
    with charts:
        left, right = st.columns(2, gap="medium")
        with left:
            _quartiles(page, "entropy", entropy, d)
        with right:
            _quartiles(page, "gradient", gradient, d)
    with text:
        low, median, high = gradient[:, :, SIZES.index(d)]
        page.text(
            "learning",
            keys=NUM_KEYS,
            max_bits=f"{log2(NUM_KEYS):.0f}",
            rows=f"{NUM_ROWS:,}",
            d=d,
            low=low,
            median=median,
            high=high,
        )


def _quartiles(page: LessonPage, what: str, quartiles: Floats, d: int) -> None:
    """Draw medians over d with the middle half, [quartile, scale, size]."""
    low, median, high = quartiles
    without = Line(
        page.label("without"),
        SIZES,
        median[0],
        low[0],
        high[0],
        band=True,
        dash="dash",
        marker="cross",
        colour="muted",
    )
    with_scale = Line(page.label("with"), SIZES, median[1], low[1], high[1], band=True, marker="circle")
    ends = {"first": SIZES[0], "last": SIZES[-1], "without": median[0, -1], "with_scale": median[1, -1]}
    curves(
        f"softmax-{what}",
        [without, with_scale],
        title=page.label("curves_title", what=page.label(what)),
        across=_size_axis(page),
        up=Axis(page.label(f"{what}_axis"), zero=True, digits=3),
        marked=d,
        alt=page.label("curves_alt", **ends),
    )


def _bert(page: LessonPage) -> None:
    """Draw a row of a head of the bundled BERT."""
    head = head_selection()
    found = _in_bert(head.text, head.layer, head.head, head.query)
    tokens = shown_tokens(found.tokens, head.text)
    labels = [token["label"] for token in tokens]
    row = found.row
    strongest = int(row.plain.weights.argmax())
    chart, text = st.columns([7, 5], gap="large")
    with chart, st.container(border=True):
        title = page.label("bert_title", token=tokens[head.query]["name"], head=head.head_name)
        _table(page, "real row", title, _rows(page, row, labels, numbered=True), row)
    with text:
        page.text(
            "bert",
            head=head.head_name,
            strongest=code(tokens[strongest]["name"]),
            without=float(row.plain.weights[strongest]),
            with_scale=float(row.scaled.weights[strongest]),
            gradient_without=row.plain.gradient,
            gradient_with=row.scaled.gradient,
            d=found.d_head,
            variance=found.variance,
            centred=found.centred_variance,
            independent=found.d_head * found.query_variance * found.key_variance,
        )
