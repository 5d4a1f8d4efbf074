"""The page on √d: what the division does to random scores, and to a real head's."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log2, sqrt
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.app import markdown
from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.components.share_table import Measure, Row, share_table
from attnviz.app.learn.choosing import head_selection
from attnviz.app.learn.computed import MODEL, computed
from attnviz.app.learn.computed import scale as compute
from attnviz.app.learn.lesson import guess
from attnviz.app.references import cited_markdown
from attnviz.app.state import choices
from attnviz.app.state.choices import VECTORS_SEED
from attnviz.app.weights_picture import shown_tokens
from attnviz.models import catalogue
from attnviz.text import percent

if TYPE_CHECKING:
    from attnviz.trace import Floats

_variances, _row = computed(compute.variances), computed(compute.row)
_curves, _in_bert = computed(compute.curves), computed(compute.in_bert)


SIZES = tuple(2**power for power in range(11))
DRAWS = 200  # pairs for one variance: few enough that chance can be seen
KEYS = 8  # in a row: equal weights then have an entropy of exactly 3 bits
ROWS = 1000  # for one median
D_HEAD = catalogue.entry(MODEL).d_head
MOST_SHOWN = 16  # keys of a sentence that are listed one by one
FIRST_SEED = VECTORS_SEED.default  # draw 8, whose row is much like the mean of many, for small and large d

_SIZE_AXIS = Axis("d, entries of q and k", log=2, at="d = {x}")
_COLUMNS = ("without ÷ √d", "with ÷ √d")
_WEIGHTS = tuple(f"weight {column}".replace("÷ ", "÷\N{NO-BREAK SPACE}") for column in _COLUMNS)


@dataclass(frozen=True)
class Draw:
    """The random numbers on show: how many entries the vectors have, and which draw it is."""

    d: int
    seed: int


def draw() -> Draw:
    """Draw the choice of d and of the random numbers; return it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        d = choices.D_HEAD.slide("d: how many entries queries and keys have", SIZES, D_HEAD)
        with st.container(width=120):
            seed = VECTORS_SEED.draw("Seed", help="The same seed draws the same random numbers again.")
        st.button("Draw again", icon=":material/casino:", on_click=_draw_again)
    return Draw(d, seed)


def _draw_again() -> None:
    VECTORS_SEED.set((VECTORS_SEED.get(0) + 1) % (VECTORS_SEED.most + 1))


def question() -> None:
    """Ask how large dot products are."""
    measured = float(_variances(SIZES, DRAWS, FIRST_SEED)[0][SIZES.index(D_HEAD)])
    guess(
        f"A :blue[query] and a :red[key] have {D_HEAD} independent random numbers each, with mean 0 and "
        "**variance** 1 (the mean squared distance from the mean). How large is the variance of their dot "
        "product :blue[$q$] · :red[$k$]?",
        ["1", f"√{D_HEAD} ≈ {sqrt(D_HEAD):.1f}", str(D_HEAD), f"{D_HEAD}² = {D_HEAD**2}"],
        right=str(D_HEAD),
        because=f"Each of the {D_HEAD} products brings a variance of 1, and they add up: {D_HEAD}. "
        f"Measured on {DRAWS} random pairs: {measured:.1f}.",
        of_sentence=False,
    )


def picture(drawn: Draw) -> None:
    """Draw the variances, the row of weights at the chosen d, and both in words."""
    variances, errors = _variances(SIZES, DRAWS, drawn.seed)
    row = _row(drawn.d, SIZES[-1], KEYS, drawn.seed)
    at = SIZES.index(drawn.d)
    measured, error = float(variances[at]), float(errors[at])
    left, right = st.columns(2, gap="medium")
    with left:
        st.header("The variance of q · k grows like d", anchor=False)
        curves(
            "variance",
            [
                Line("theory: variance = d", SIZES, SIZES, dash="dash", colour="muted"),
                Line(
                    "measured ± 2 standard errors",
                    SIZES,
                    variances,
                    variances - 2 * errors,
                    variances + 2 * errors,
                    dash=None,
                    marker="circle",
                ),
            ],
            title="The variance of q · k grows like d",
            across=_SIZE_AXIS,
            up=Axis("variance of q · k", log=10),
            marked=drawn.d,
            alt="Measured variances of q · k follow the line variance = d, "
            f"from {variances[0]:.2f} at d = {SIZES[0]} to {variances[-1]:.0f} at "
            f"d = {SIZES[-1]}. At d = {drawn.d}: {measured:.2f}.",
        )
    with right:
        st.header(f"A row of {KEYS} keys at d = {drawn.d}", anchor=False)
        share_table(
            "random row",
            of="key",
            title=f"Dot products and weights of {KEYS} random keys, without and with division by √{drawn.d}",
            about=f"Random numbers, draw {drawn.seed}: no model and no sentence.",
            columns=_WEIGHTS,
            rows=[
                {
                    "label": f"key {number}",
                    "place": "",
                    "score": float(score),
                    "shares": [float(row.plain.weights[number - 1]), float(row.scaled.weights[number - 1])],
                }
                for number, score in enumerate(row.dot_products, start=1)
            ],
            measures=[_entropies(row)],
        )
        strongest = int(row.plain.weights.argmax())
        plain, scaled = (percent(float(softmax.weights[strongest])) for softmax in (row.plain, row.scaled))
        st.markdown(
            f"At $d$ = **{drawn.d}** the variance is **{measured:.2f}** "
            f"(theory: {drawn.d} ± {2 * error:.2f}, two standard errors). **Without** the division, key "
            f"{strongest + 1} gets **{plain}**; **with** it, **{scaled}**."
        )


def _entropies(row: compute.Row) -> Measure:
    return {"label": "entropy, bits", "values": [f"{each.entropy:.2f}" for each in (row.plain, row.scaled)]}


def text() -> None:
    """Say why the variance is d, and what the division mends."""
    st.markdown(
        "A dot product adds up $d$ products. Each has variance 1, and the variances of independent numbers "
        "add up, too:"
    )
    st.latex(
        r"\operatorname{Var}(\textcolor{blue}{q}\cdot\textcolor{red}{k})"
        r"=\sum_{i=1}^{d}\operatorname{Var}(\textcolor{blue}{q_i}\,\textcolor{red}{k_i})=d"
    )
    st.markdown("Divided by $\\sqrt d$, the **scores** have variance 1 again, however large $d$ is:")
    st.latex(
        r"\textcolor{violet}{w}=\operatorname{softmax}\!\left("
        r"\frac{\textcolor{blue}{q}\,\textcolor{red}{K}^\top}{\sqrt{d}}\right)"
    )
    st.markdown(
        "Why does that matter? **Softmax** turns scores into shares, the :violet[weights]. Only differences "
        f"count: a key that scores 10 more than another gets $e^{{10}}$ ≈ {exp(10):,.0f} times its weight. "
        "Without the division such differences are common at a large $d$: one key takes nearly everything, "
        "by pure chance. Drag $d$, and see.\n\n"
        f":small[Entropy: {log2(KEYS):.0f} bits if all {KEYS} get the same, 0 if one gets everything. "
        "At 0 bits the query learns nothing: *Could it still learn?* measures that on many rows.]"
    )


def learning(drawn: Draw) -> None:
    """Draw the quartiles of many rows: how undecided they are, and how much a query can learn from them."""
    entropy, gradient = _curves(SIZES, KEYS, ROWS, drawn.seed)
    chart_column, text_column = st.columns([7, 5], gap="large")
    with chart_column:
        left, right = st.columns(2, gap="medium")
        with left:
            _quartiles_chart("Entropy", "entropy, in bits", entropy, drawn.d)
        with right:
            _quartiles_chart("Gradient", "size of the gradient", gradient, drawn.d)
    with text_column:
        st.markdown(
            "**Entropy** says how undecided a row is: 0 bits if one key gets everything, "
            f"{log2(KEYS):.0f} bits if all {KEYS} get the same.\n\n"
            "A model learns by the **gradient**: how much would the weights $w$ move if the :blue[query] "
            "moved a little?"
        )
        st.latex(
            r"\frac{\partial\,\textcolor{violet}{w}}{\partial\,\textcolor{blue}{q}}="
            r"\bigl(\operatorname{diag}(\textcolor{violet}{w})"
            r"-\textcolor{violet}{w}^\top\,\textcolor{violet}{w}\bigr)\,"
            r"\frac{\textcolor{red}{K}}{\sqrt{d}}"
        )
        cited_markdown(
            "Where one weight is 1 and all others are 0, every cell is 0: the query learns nothing. The size "
            "drawn is the root of the sum of all squared cells. (Without the division, $\\sqrt d$ is left "
            "out; $\\operatorname{diag}(w)$ has $w$ on the diagonal, and 0 elsewhere.)\n\n"
            f"{gradient_in_words(gradient, drawn.d)}"
        )


def gradient_in_words(gradient: Floats, d: int) -> str:
    """What the quartiles of the gradient, [quartile, scale, size], are at this d, and at all of them."""
    (low, low_with), (median, median_with), (high, high_with) = gradient[:, :, SIZES.index(d)]
    most = int(gradient[1, 0].argmax())
    # From here on the median without the division lies below the other one.
    below = len(SIZES) - int((gradient[1, 0] < gradient[1, 1])[::-1].argmin())
    return (
        f"At $d$ = {d}, the middle half of {ROWS:,} random rows has a gradient from {low:.3f} to {high:.3f} "
        f"(median **{median:.3f}**) **without** the division, and from {low_with:.3f} to {high_with:.3f} "
        f"(median **{median_with:.3f}**) **with** it. Without the division, the median grows until $d$ = "
        f"{SIZES[most]}, then shrinks: from {SIZES[below]} on it is below the other, and falls to "
        f"{gradient[1, 0, -1]:.3f}: in most "
        "of these rows the gradient vanishes, as the authors suspected (Vaswani et al. 2017, section 3.2.1). "
        f"With it, the median stays between {gradient[1, 1].min():.2f} and {gradient[1, 1].max():.2f}."
    )


def _quartiles_chart(what: str, label: str, quartiles: Floats, d: int) -> None:
    """Medians over d and the middle half around them, [quartile, scale, size], first without the division."""
    low, median, high = quartiles
    (first, _), (last, kept) = median[:, 0], median[:, -1]
    curves(
        f"softmax-{what.lower()}",
        [
            Line(
                _COLUMNS[0],
                SIZES,
                median[0],
                low[0],
                high[0],
                band=True,
                dash="dash",
                marker="cross",
                colour="muted",
            ),
            Line(_COLUMNS[1], SIZES, median[1], low[1], high[1], band=True, marker="circle"),
        ],
        title=f"{what}: median and quartiles",
        across=_SIZE_AXIS,
        up=Axis(label, zero=True, digits=3),
        marked=d,
        alt=f"From d = {SIZES[0]} to {SIZES[-1]}, without the division the median goes from {first:.3f} to "
        f"{last:.3f}; with it, it is {kept:.3f} in the end.",
    )


def real() -> None:
    """Draw the choice of a row of the real model, the row, and its numbers in words."""
    head = head_selection()
    found = _in_bert(head.text, head.layer, head.head, head.query)
    tokens = shown_tokens(found.tokens, head.text)
    row, name = found.row, head.head_name
    labels = [markdown.code(token["name"]) for token in tokens]
    strongest = int(row.plain.weights.argmax())
    chart_column, text_column = st.columns([7, 5], gap="large")
    with chart_column, st.container(border=True):
        share_table(
            "real row",
            of="key",
            title=f"Dot products and weights of the query {tokens[head.query]['name']} in head {name}",
            columns=_WEIGHTS,
            rows=listed(row, [token["label"] for token in tokens]),
            measures=[_entropies(row)],
        )
    plain, scaled = (_exact(float(softmax.weights[strongest])) for softmax in (row.plain, row.scaled))
    with text_column:
        st.markdown(
            f"**Without** the division, {labels[head.query]} would give {labels[strongest]} **{plain}**. "
            f"**With** it, as the model was trained, {labels[strongest]} gets **{scaled}**. The gradient, "
            "which is how far the weights move if the query moves a little, is "
            f"**{row.plain.gradient:.4f}** without it and **{row.scaled.gradient:.4f}** with it.\n\n"
            f"In head {name}, :blue[queries] and :red[keys] have $d$ = **{found.d_head}** entries, and over "
            f"all pairs of tokens :blue[$q$] · :red[$k$] has variance **{found.variance:.1f}**, not "
            f"{found.d_head}: trained entries are not independent, and their variance is "
            f"{found.query_variance:.2f} and {found.key_variance:.2f}."
        )


def listed(row: compute.Row, labels: list[str]) -> list[Row]:
    """The keys of a row in their order; of a long one the strongest, and the rest as one."""
    pairs = list(zip(row.plain.weights.tolist(), row.scaled.weights.tolist(), strict=True))
    order = sorted(range(len(pairs)), key=lambda key: (-pairs[key][1], key))
    shown = sorted(order if len(order) <= MOST_SHOWN else order[: MOST_SHOWN - 1])
    keys: list[Row] = [
        {
            "label": labels[key],
            "place": str(key + 1),
            "score": float(row.dot_products[key]),
            "shares": pairs[key],
        }
        for key in shown
    ]
    rest = [pairs[key] for key in range(len(pairs)) if key not in shown]
    if rest:
        sums = [sum(column) for column in zip(*rest, strict=True)]
        keys.append({"label": f"{len(rest)} others", "place": "", "score": None, "shares": sums})
    return keys


def _exact(weight: float) -> str:
    """0.9999 as "99.99 %": as many decimals as it takes not to say 100 %."""
    for digits in range(1, 5):
        if weight == 1 or round(100 * weight, digits) < 100:
            return f"{100 * weight:.{digits}f} %"
    return "more than 99.9999 %"


CODE = (
    ("attnviz.transformer.attention", "scaled_dot_product_attention"),
    ("attnviz.app.learn.scale.compute", "variances", "standard_error", "compare"),
    ("attnviz.analysis.entropy", "bits"),
    ("attnviz.app.learn.scale.compute", "jacobian", "derivative", "curves"),
)

LIMITS = """
- **A model trained without the division.** The bundled BERT was trained with it. Taking it away afterwards
  shows what softmax does with these numbers; a model trained without it would have learned other ones.
- **That √d is the only way.** The published code of T5 (Raffel et al. 2020) leaves the division out and
  starts from smaller parameters instead.
- **That real entries are random.** Independence and variance 1 describe a model before training, at best.
- **That a decided row is a bad row.** A trained head may well give one token nearly everything.
- **The whole gradient.** This is one factor of many on the way to a model's parameters.
"""
