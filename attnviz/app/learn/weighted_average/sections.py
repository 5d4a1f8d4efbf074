"""What is attention? A weighted average of the sentence, shown before attention has learned anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import TypedDict

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens, visible_text
from attnviz.analysis.sentence import name_of, names_of, to_guess_from
from attnviz.app import controls, markdown
from attnviz.app.components.component import widget
from attnviz.app.learn import choosing, lesson
from attnviz.app.learn.computed import MODEL
from attnviz.app.learn.computed import weighted_average as compute
from attnviz.app.learn.weighted_average.averages_compared import (
    ADDITIVE,
    DOT,
    FORMULAS,
    LEFT_OUT,
    WeighedToken,
)
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import DRAW, SCORING, SOFTMAX_TEMPERATURE
from attnviz.capture import loading
from attnviz.models import catalogue
from attnviz.text import decimal, enough_digits, percent

TEMPERATURES = ("0", "0.01", "0.03", "0.1", "0.3", "1", "3", "10", "30", "100", "∞")

_NUMBERS = 32  # of a vector that the picture has room for
_LINES = 20  # of the sum that the picture has room for
_COMPARED = 2  # tokens whose scores the answer tells
_TOLD = 3  # tokens named in the picture's sentence
_LARGE = 5  # the largest exponent that is raised as it is


def choose() -> WeighedToken:
    """Draw the choice of the sentence and of the token that looks."""
    sentence_column, word_column = st.columns([3, 1])
    with sentence_column:
        text = choosing.sentence()
    tokens = DisplayTokens(loading.tokens(MODEL, text), text, hide_special=True).groups
    with word_column:
        query = controls.token(tokens, text, "From (query)")
    return WeighedToken(text, tokens, query)


def question(chosen: WeighedToken) -> None:
    """Ask what the token takes most from, at the plainest setting of all."""
    plain = chosen.plain()
    row = plain.weights[chosen.query]
    # A word that stands there twice takes the same from both, and so as much from itself as from any.
    itself = bool(np.isclose(row[chosen.query], row.max(), rtol=1e-5))
    strongest = chosen.query if itself else int(row.argmax())
    options = to_guess_from(row, chosen.tokens, best=strongest)
    scores = ", ".join(
        f"{markdown.token(place, chosen.tokens)} scores {decimal(plain.scores[chosen.query, place])} "
        f"and gets **{percent(row[place], 1)}**"
        for place in sorted(options, key=lambda place: -row[place])[:_COMPARED]
    )
    lesson.guess(
        f"{chosen.looker} compares its **vector**, a list of numbers, with that of each **token** (a word, a "
        "piece of one, a sign): it multiplies them number by number, and adds up. Nothing is learned. **From "
        "which token does it take most?**",
        [name_of(place, chosen.tokens) for place in options],
        right=name_of(strongest, chosen.tokens),
        because=f"At temperature 1, {scores}. "
        f"{_moral(itself, chosen.looker)} "
        "What to look at must be learned.",
    )


def _moral(itself: bool, looker: str) -> str:
    if itself:
        return f"What resembles {looker} most is {looker}."
    return "A longer vector can win by its length alone."


def choose_average(chosen: WeighedToken) -> WeighedToken:
    """Draw the choice of scoring and temperature."""
    scoring = SCORING.segments("Scoring", tuple(FORMULAS), DOT)
    draw = 1
    if scoring == ADDITIVE:
        draw = DRAW.draw(
            "Random matrices, draw",
            help="Additive scoring has matrices that would have to be learned. Here they are random numbers: "
            "another draw, other scores.",
        )
    temperature = SOFTMAX_TEMPERATURE.slide(
        "Temperature T",
        TEMPERATURES,
        "1",
        help="0: everything from the best match (hard lookup). 1: the plain softmax. "
        "∞: the same from every token (plain mean).",
    )
    return replace(chosen, scoring=scoring, temperature=temperature, draw=draw)


def picture(chosen: WeighedToken) -> None:
    """Draw the sum, and say it in words."""
    found = chosen.found
    average(
        "average",
        words=[
            {"label": visible_text(group.label), "name": name}
            for group, name in zip(chosen.tokens, names_of(chosen.tokens), strict=True)
        ],
        query=chosen.query,
        parts=_parts(chosen),
        mixed=found.output[chosen.query, :_NUMBERS].tolist(),
        d_model=found.vectors.shape[1],
        left_out=LEFT_OUT,
        on_pick=chosen.look,
    )
    st.markdown(in_words(chosen))


def in_words(chosen: WeighedToken) -> str:
    """The picture's sentence, in Markdown."""
    row = chosen.found.weights[chosen.query]
    strongest = np.argsort(-row, kind="stable")[:_TOLD]
    told = [
        f"**{percent(row[place], 1)}** from {chosen.name(int(place))}" for place in strongest if row[place]
    ]
    count, even = len(row), f"{compute.even_mix(row):.1f}"
    if count > 1 and np.all(row == row[0]):  # at T = ∞
        return f"{chosen.looker} takes the same from all {count} tokens: **{percent(row[0], 1)}** from each."
    spread = f" They are as spread out as equal shares for {even} tokens." if even != "1.0" else ""
    return f"{chosen.looker} takes {', '.join(told)}. All {count} weights sum to 100 %.{spread}"


def text(chosen: WeighedToken) -> None:
    """Explain the average and the lookup."""
    d_model = chosen.found.vectors.shape[1]
    st.markdown(
        f"A token starts as a **vector**: {d_model} numbers, the same in every sentence. **Attention** gives "
        f"{chosen.looker} a new one, mixed from the vectors of all tokens:"
    )
    st.latex(r"x'_i = \sum_j \textcolor{violet}{w_{ij}} \, \textcolor{green}{x_j}")
    st.markdown(
        "Each :violet[**weight**] $w$ is a share: together they are 100 %. The better two vectors match, the "
        "higher their **score**, and the **softmax** turns all scores into shares. The **temperature** says "
        "how sharply: at 0 the best match takes everything, at ∞ all tokens get the same.\n\n"
        "It is a soft lookup: the :blue[**query**] is compared with every :red[**key**], and takes a mix of "
        "their :green[**values**]. Here all three are the same vectors. On page 3 each has its own."
    )


def formula(chosen: WeighedToken) -> None:
    """Work one weight out, from the vectors to the share."""
    st.markdown(
        "The **softmax** raises $e$ ≈ 2.718 to the power of each score $s$, divided by the temperature $T$, "
        "and divides by the sum of all."
    )
    left, right = st.columns(2)
    left.latex(f"s_{{ij}} = {FORMULAS[chosen.scoring]}")
    right.latex(r"\textcolor{violet}{w_{ij}} = \frac{e^{s_{ij} / T}}{\sum_k e^{s_{ik} / T}}")
    cited_markdown(
        f"{_worked_out(chosen)}\n\n"
        f"The vectors are from the table of the bundled **BERT** (Devlin et al. 2019): a small one, "
        f"all-MiniLM-L6-v2, {catalogue.MINILM_LEARNED}."
    )


def _worked_out(chosen: WeighedToken) -> str:
    found, query = chosen.found, chosen.query
    row = found.weights[query]
    order = np.argsort(-row, kind="stable")
    key = int(next((place for place in order if place != query), query))
    scores = found.scores[query].astype(np.float64)
    who = (
        "Here $q$ is the vector of token $i$, and $k$ that of token $j$. "
        f"From {chosen.looker} to {chosen.name(key)}, the score is"
    )
    if chosen.number in (0, inf):
        best = np.count_nonzero(row)
        shared = "the best match takes all" if best == 1 else f"the {best} best matches share all"
        limit = shared if chosen.number == 0 else "every token gets the same"
        return (
            f"{who} {decimal(scores[key], 3)}. At $T = {chosen.latex_temperature}$ {limit}; "
            f"this weight is **{percent(row[key], 1)}**."
        )
    # At a low temperature e^(s / T) has dozens of digits; less the largest score the shares are the same.
    less = scores.max() if abs(scores).max() > _LARGE * chosen.number else 0.0
    exponentials = np.exp((scores - less) / chosen.number)
    result = percent(row[key], 1)
    of = enough_digits(
        [exponentials[key], exponentials.sum()], 3, lambda one, every: percent(one / every, 1) == result
    )
    one, every = f"{exponentials[key]:.{of}f}", f"{exponentials.sum():.{of}f}"
    digits = enough_digits(
        [scores[key], less], 3, lambda own, top: f"{np.exp((own - top) / chosen.number):.{of}f}" == one
    )
    score = f"{scores[key]:.{digits}f}"
    power = f"({score} - {less:.{digits}f})".replace("- -", "+ ") if less else score
    return (
        f"{who} {score.replace('-', '−')}. With $T = {chosen.temperature}$: "
        f"$e^{{{power} / {chosen.temperature}}} = {one}$. The sum of the row is ${every}$, and "
        f"${one} / {every}$ = **{result}**."
    )


CODE = (
    (
        "attnviz.app.learn.weighted_average.compute",
        *("attention_without_parameters", "weighted_average", "softmax"),
        *("dot_product", "scaled_dot_product", "cosine", "Additive", "split"),
    ),
)

LIMITS = (
    "- A weight says how much was *read* from a token, not *why* a model decides anything "
    "(Jain & Wallace 2019, Serrano & Smith 2019; against: Wiegreffe & Pinter 2019).\n"
    "- BERT's own attention has learned matrices, and compares what they make of the vectors (page 3). "
    "Here the vectors come straight from its table.\n"
    "- The average does not know the order of the words: shuffle them and each gets the same vector. "
    "*Positions* are page 6.\n"
    "- One sentence is an anecdote. In *The trophy did not fit in the suitcase because it was too "
    "small*, the trained head (layer 4, head 2) is wrong: *it* looks most at *trophy*."
)


def _parts(chosen: WeighedToken) -> list[Part]:
    """The lines of the sum; of a long sentence the heaviest ones, and all others together."""
    found = chosen.found
    row, vectors = found.weights[chosen.query], found.vectors
    places = np.arange(len(row))
    if len(row) > _LINES:
        heaviest = np.argsort(-row, kind="stable")
        places = np.sort(np.unique([chosen.query, *heaviest[: _LINES - 2]]))
    parts: list[Part] = [
        {
            "label": visible_text(chosen.tokens[place].label),
            "name": visible_text(name_of(int(place), chosen.tokens)),
            "single": True,
            "weight": float(row[place]),
            "vector": vectors[place, :_NUMBERS].tolist(),
        }
        for place in places
    ]
    others = np.setdiff1d(np.arange(len(row)), places)
    if len(others):
        label = f"{len(others)} more"
        weight = float(row[others].sum())
        # Their own average, so that weight × vector is what they give together.
        share = row[others] / weight if weight else row[others]
        vector = (share @ vectors[others, :_NUMBERS]).tolist()
        parts.append({"label": label, "name": label, "single": False, "weight": weight, "vector": vector})
    return parts


class Word(TypedDict):
    """A token of the sentence: what is written, and what sentences call it."""

    label: str
    name: str


class Part(TypedDict):
    """One line of the sum: a token as in `Word`, or several together ("490 more"), which are not `single`.

    Attributes:
        weight: its share, 0 to 1.
        vector: the numbers of its vector that are shown.
    """

    label: str
    name: str
    single: bool
    weight: float
    vector: list[float]


@widget
def average(
    key: str,
    /,
    *,
    words: Sequence[Word],
    query: int,
    parts: Sequence[Part],
    mixed: Sequence[float],
    d_model: int,
    left_out: str,
    on_pick: Callable[[int], None],
) -> None:
    """Draws the sentence, each token's weight and vector, and the mixed vector at the bottom.

    Pointing at a line shows what it gives to the sum; pointing at a number, or ← and → on a line, works that
    number out. Each printed number stands unrounded in a `data-value` attribute beside it.

    Args:
        words: the whole sentence.
        query: the token that looks, a place in `words`, from 0.
        parts: the lines of the sum, in order; their weights sum to 1.
        mixed: Σ weight · vector, the numbers that are shown.
        d_model: how many numbers a whole vector has.
        left_out: which tokens are not among the words, for the saved picture.
        on_pick: called with the place of the token that the visitor picks.
    """
