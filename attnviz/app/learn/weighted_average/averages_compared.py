"""The token that looks and what it reads; what that knows, four ways to score, and all tokens at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken, visible_text
from attnviz.app import markdown
from attnviz.app.components.share_table import Row, share_table
from attnviz.app.learn.computed import MODEL, computed
from attnviz.app.learn.computed import weighted_average as compute
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import QUERY
from attnviz.app.weights_picture import shown_tokens, weights_picture
from attnviz.capture import loading
from attnviz.text import decimal, percent

if TYPE_CHECKING:
    from attnviz.trace import Floats

_average = computed(compute.average)
_difference_alone = computed(compute.difference_alone)
_trained = computed(compute.trained_weights)

DOT, ADDITIVE = "Dot product", "Additive"
FORMULAS = {
    DOT: r"\textcolor{blue}{q} \cdot \textcolor{red}{k}",
    "Scaled dot product": r"\frac{\textcolor{blue}{q} \cdot \textcolor{red}{k}}{\sqrt{d}}",
    "Cosine": r"\frac{\textcolor{blue}{q} \cdot \textcolor{red}{k}}"
    r"{\lVert \textcolor{blue}{q} \rVert \, \lVert \textcolor{red}{k} \rVert}",
    ADDITIVE: r"v^\top \tanh(W \textcolor{blue}{q} + U \textcolor{red}{k})",
}
"""How a query is compared with a key, by the names that `lessons.weighted_average` knows too."""

CERTAIN = {
    DOT: "A longer vector can score higher than the word itself.",
    "Scaled dot product": "The dot product, divided by $\\sqrt{d}$: like $\\sqrt{d}$ times the temperature.",
    "Cosine": "Only the direction counts: no word can score higher than the word itself.",
    ADDITIVE: "A small network compares the two. Untrained, its opinion is random.",
}

LEFT_OUT = "[CLS] and [SEP] are left out"
_LINES = 20  # of the similarities that the picture has room for


@dataclass(frozen=True)
class WeighedToken:
    """What the page shows.

    Attributes:
        text: the sentence.
        tokens: its own tokens, without [CLS] and [SEP].
        query: the token that looks, from 0.
        scoring: how it is compared with the others.
        temperature: as the slider says it.
        draw: which random matrices additive scoring has, from 1.
    """

    text: str
    tokens: tuple[DisplayToken, ...]
    query: int
    scoring: str = DOT
    temperature: str = "1"
    draw: int = 1

    @property
    def looker(self) -> str:
        """The token that looks, in Markdown."""
        return markdown.code(self.tokens[self.query].label)

    def name(self, place: int) -> str:
        """A token in Markdown, with its number where its label stands twice."""
        return "itself" if place == self.query else markdown.token(place, self.tokens)

    @property
    def number(self) -> float:
        """The temperature."""
        return inf if self.temperature == "∞" else float(self.temperature)

    @property
    def found(self) -> compute.Average:
        """Every token's weighted average."""
        return _average(self.text, self.scoring, self.number, self.draw)

    @property
    def latex_temperature(self) -> str:
        """The temperature in a formula."""
        return self.temperature.replace("∞", r"\infty")

    def like(self, scoring: str) -> compute.Average:
        """Every token's weighted average by another scoring."""
        return _average(self.text, scoring, self.number, self.draw)

    @property
    def difference_alone(self) -> float:
        """How far what the token reads differs at most if it is computed for it alone."""
        return _difference_alone(self.text, self.scoring, self.number, self.draw, self.query)

    def plain(self) -> compute.Average:
        """Every token's weighted average by the dot product and the plain softmax."""
        return _average(self.text, DOT, 1.0, 1)

    def trained(self) -> Floats:
        """What the token looks at in a trained head, [token]."""
        return _trained(self.text, self.query)

    def look(self, place: int) -> None:
        """Make another token the one that looks; called by pictures."""
        QUERY.pick(self.tokens[place])


def meaning(chosen: WeighedToken) -> None:
    """Draw how alike the token is to each word, fixed and mixed."""
    found, query = chosen.found, chosen.query
    fixed, mixed = found.fixed_similarity[query], found.mixed_similarity[query]
    trained = chosen.trained()
    candidates = [
        p for p in np.argsort(-trained, kind="stable") if chosen.tokens[p].label != chosen.tokens[query].label
    ]
    named = [int(place) for place in candidates[:2]]
    explanation, drawn = st.columns([5, 7], gap="large")
    with drawn:
        first = dict.fromkeys(group.label for group in chosen.tokens)
        places = [[g.label for g in chosen.tokens].index(label) for label in first]
        shown = sorted(sorted(places, key=lambda place: -mixed[place])[:_LINES])
        nearness(
            "nearness",
            left_out=LEFT_OUT,
            lines=[
                {
                    "label": visible_text(chosen.tokens[place].label),
                    "before": float(fixed[place]),
                    "after": float(mixed[place]),
                }
                for place in shown
            ],
            before="fixed x",
            after="mixed x′",
        )
        if len(shown) < len(places):
            st.caption(
                f"The {len(shown)} tokens that the mix resembles most, of {len(places)} different ones."
            )
    with explanation:
        st.markdown(
            "The **cosine** of the angle between two vectors says how alike they are: 1 is the same "
            f"direction, 0 a right angle. Here is how alike the vector of {chosen.looker} is to each word, "
            "before the mixing and after it."
        )
        if named:
            changes = " and ".join(
                f"with {markdown.code(chosen.tokens[place].label)} goes from {decimal(fixed[place])} "
                f"to **{decimal(mixed[place])}**"
                for place in named
            )
            looks = ", ".join(
                f"{markdown.code(chosen.tokens[place].label)} **{percent(trained[place], 1)}**"
                for place in named
            )
            st.markdown(
                f"The cosine {changes}. But nothing has told {chosen.looker} which word matters to it."
            )
            st.markdown(
                "That has to be learned. BERT has several **layers**, one after the other, each with several "
                f"**heads**: attentions that have learned what to compare. In layer 4, head 2, "
                f"{chosen.looker} looks most, of the other words, at {looks}. The next pages show how."
            )


def scorings(chosen: WeighedToken) -> None:
    """Draw the four ways to compare, each with the token's numbers."""
    query = chosen.query
    st.markdown(
        f"The scores of {chosen.looker} by each of them, and its weights at $T = "
        f"{chosen.latex_temperature}$. $q$ is the vector of the token that looks, "
        "$k$ that of the one it looks at, $d$ how many numbers each has."
    )
    columns = st.columns(len(FORMULAS), gap="medium")
    for column, (scoring, latex) in zip(columns, FORMULAS.items(), strict=True):
        found = chosen.like(scoring)
        scores, row = found.scores[chosen.query], found.weights[chosen.query]
        others = [
            place for place in range(len(row)) if chosen.tokens[place].label != chosen.tokens[query].label
        ]
        best = max(others, key=lambda place: scores[place], default=None)
        other = (
            ""
            if best is None
            else f", best other {markdown.code(chosen.tokens[best].label)} {decimal(scores[best])}"
        )
        with column.container(border=True, height="stretch"):
            st.subheader(scoring, anchor=False)
            # A line without width makes all formulas equally high, so that what is below them lines up.
            st.latex(latex + r"\rule[-0.9em]{0em}{2.2em}")
            st.markdown(
                f"with itself {decimal(scores[query])}{other}\n\n"
                f"weights **{percent(row.min(), 1)}** to **{percent(row.max(), 1)}**\n\n"
                f"{compute.best_with_itself(found)} of {len(row)} tokens score nothing higher than "
                "themselves\n\n"
                f":small[{CERTAIN[scoring]}]"
            )
    numbers = _random_numbers(chosen.found.vectors.shape[1], chosen.draw)
    cited_markdown(
        "The dot product is in Luong et al. 2015, scaled in Vaswani et al. 2017, the cosine in Graves et al. "
        "2014. Additive scoring (Bahdanau et al. 2015) has two matrices, $W$ and $U$, and a vector $v$ (not "
        "the value), which a model would learn. "
        f"Here they are **random numbers**, draw {chosen.draw}: {numbers}. Choose Additive above, and "
        "change the draw."
    )


def matrix(chosen: WeighedToken) -> None:
    """Draw the weights of all tokens, and compare the row with the token computed alone."""
    found, query = chosen.found, chosen.query
    difference = chosen.difference_alone
    every = shown_tokens(loading.tokens(MODEL, chosen.text), chosen.text)
    names = [every[group.positions[0]] for group in chosen.tokens]
    explanation, drawn = st.columns([5, 7], gap="large")
    with explanation:
        st.markdown(
            f"The picture on top has one query: {chosen.looker}. A computer does all of them at once, as a "
            "**matrix** with a row for each token that looks and a column for each that is looked at. Every "
            "row sums to 100 %."
        )
        st.latex(r"\textcolor{violet}{A} = \operatorname{softmax}(S / T)")
        st.latex(r"X' = \textcolor{violet}{A} \, \textcolor{green}{X}")
        rounding = ", the rounding of the computer's numbers." if difference else "."
        st.markdown(
            "$S$ has the scores, :green[$X$] the vectors, one row for each token. Computed alone and as a "
            f"row, the numbers of {chosen.looker} differ by at most {_tiny(difference)}{rounding}"
        )

    def pick(row: int | None, _: int | None) -> None:
        if row is not None:
            chosen.look(row)

    with drawn:
        weights_picture(
            "weighted average matrix",
            found.weights[None],
            names,
            names,
            view="matrix",
            query=query,
            heading=f"{chosen.scoring}, T = {chosen.temperature}",
            note="the more a cell stands out, the larger its share of its row; one scale for all rows",
            filename="weighted-average",
            on_pick=pick,
        )


@computed
def _random_numbers(d_model: int, draw: int) -> str:
    matrices = compute.random_additive(d_model, draw)
    first = ", ".join(decimal(value) for value in matrices.vector[:4].tolist())
    hidden, d = matrices.query_matrix.shape
    return f"$W$ and $U$ are {hidden} × {d}, $v$ has {hidden} numbers: {first}, …"


def _tiny(value: float) -> str:
    """A number near 0: "0" or "3.0 × 10⁻⁸", as a formula."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.1e}".split("e")
    return rf"${mantissa} \times 10^{{{int(exponent)}}}$"


class NeighbourRow(TypedDict):
    """One line: a token, and the two cosine similarities to it, from −1 to 1."""

    label: str
    before: float
    after: float


def nearness(key: str, /, *, lines: Sequence[NeighbourRow], before: str, after: str, left_out: str) -> None:
    """Draw both similarities of each token as bars; `before` and `after` are the headings.

    `left_out` are the tokens that are not among the lines, for the saved picture.
    """
    rows: list[Row] = [
        {
            "label": line["label"],
            "place": "",
            "shares": [line["before"], line["after"]],
            "written": [decimal(line["before"]), decimal(line["after"])],
        }
        for line in lines
    ]
    share_table(key, title="Cosine similarity", columns=[before, after], rows=rows, left_out=left_out)
