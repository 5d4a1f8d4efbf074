"""The page on long distances: how many translations of three networks are right, by distance."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import numpy as np
import streamlit as st

from attnviz.app.components.curves import Axis, Colour, Line, Marker, curves
from attnviz.app.learn.lesson import guess, not_shown
from attnviz.app.page import stop
from attnviz.errors import AttnvizError
from attnviz.text import percent
from attnviz.trained.translator import distance
from attnviz.trained.translator.distance import NAMES, Distances, Name, Point

NETWORK: dict[Name, str] = {
    "lstm": "LSTM",
    "lstm_attention": "LSTM with attention",
    "transformer": "Transformer",
}
TITLE = "The whole translation is right"

_LOOK: dict[Name, tuple[Marker, Colour]] = {
    "lstm": ("square", "text"),
    "lstm_attention": ("diamond", "query"),
    "transformer": ("circle", "weights"),
}
_AT_CHANCE = 0.6  # of two pronouns, the right one; chance level is 0.5


def measured() -> Distances:
    """Return the stored results; stop the page where they are missing."""
    try:
        return distance.read()
    except AttnvizError as error:
        stop(error, ":material/build:")


def question(found: Distances) -> None:
    """Ask which network loses most."""
    at = found.longest_learned
    lost = {name: _median(found, name, 0, _exact) - _median(found, name, at, _exact) for name in NAMES}
    shares = [
        f"the {_named(name)} from {percent(_median(found, name, 0, _exact))} to "
        f"{percent(_median(found, name, at, _exact))}"
        for name in NAMES
    ]
    guess(
        f"The noun that *it* means is {found.words[0]:.0f} words before it, and then {found.words[at]:.0f}. "
        "Which network loses most right translations?",
        list(NETWORK.values()),
        right=NETWORK[max(lost, key=lambda name: lost[name])],
        because=f"In right translations, {'; '.join(shares)}.",
        of_sentence=False,
    )


def picture(found: Distances) -> None:
    """Draw the share of right translations by distance."""
    words = [round(apart, 1) for apart in found.words]
    lines = []
    for name in NAMES:
        shares = [[100 * _exact(found, point) for point in run.points] for run in found.chosen(name)]
        marker, colour = _LOOK[name]
        middle, low, high = (of(shares, axis=0) for of in (np.median, np.min, np.max))
        lines.append(Line(NETWORK[name], words, middle, low, high, marker=marker, colour=colour))
    numbers = "; ".join(
        f"{line.label}: {', '.join(f'{share:.0f}' for share in np.asarray(line.y))}" for line in lines
    )
    st.header(TITLE, anchor=False)
    curves(
        "distance-exact",
        lines,
        title=TITLE,
        across=Axis("words from the noun to it", at="{x} words"),
        up=Axis("right, %", zero=True, digits=0),
        marked=words[found.longest_learned],
        alt=f"Percent right at {', '.join(map(str, words))} words from noun to it. {numbers}.",
    )
    st.markdown(
        ":small[Right of the dotted line, the sentences are longer than any that the networks learned from.]"
    )


def text(found: Distances) -> None:
    """Say what the networks are, how they were compared, and with which result."""
    runs = found.chosen("transformer")
    st.markdown(
        "An **LSTM** (Hochreiter & Schmidhuber 1997) writes from a memory of fixed size. **Attention** reads "
        "a vector of every word, over any distance in one step. The **LSTM with attention** (Bahdanau et al. "
        "2015) has both, the **transformer** attention alone.\n\n"
        f"All three learned from the same sentences, with 0 to {found.longest_learned} clauses between the "
        f"noun and *it*, in {runs[0].steps:,} steps. Each was trained from {len(runs)} seeds with the better "
        f"of {len({run.learning_rate for run in found.runs})} learning rates. Points are medians of the "
        f"seeds on {found.sentences} new sentences, bars their range.\n\n"
        "At every length that they learned from, the LSTM with attention translates more sentences correctly "
        "than the LSTM. Where the transformer is wrong within these lengths, only the pronoun is."
    )


def limits(found: Distances) -> None:
    """Say what one could wrongly conclude."""
    at = found.longest_learned
    pronoun = _median(found, "lstm", at, _pronoun)
    runs = found.chosen("transformer")
    at_chance = sum(_pronoun(found, run.points[at]) < _AT_CHANCE for run in runs)
    beyond = {name: percent(_median(found, name, -1, _exact)) for name in NAMES}
    not_shown(
        f"""
- **That the LSTM’s memory is too small.** What it gets wrong, it may still learn in more steps.
- **That it forgets what *it* means.** At {found.words[at]:.0f} words it gets {percent(pronoun)} of the
  pronouns right; it errs in the rest of the sentence.
- **That attention has no limits.** Twice the words, four times the comparisons. And at {found.words[-1]:.0f}
  words, more than any sentence that they learned from, {beyond["lstm_attention"]} (LSTM with attention) and
  {beyond["transformer"]} (transformer) of the translations are right.
- **That a transformer always learns it.** At {found.words[at]:.0f} words, {at_chance} of {len(runs)}
  trainings chooses *il* or *elle* at chance level.
- **A verdict on the designs.** These are small networks of one size each, trained for minutes on sentences
  of one small grammar, {len(found.runs)} trainings in all.
"""
    )


def _exact(found: Distances, point: Point) -> float:
    return point.exact / found.sentences


def _pronoun(found: Distances, point: Point) -> float:
    return point.pronoun / found.sentences


def _median(found: Distances, name: Name, place: int, of: Callable[[Distances, Point], float]) -> float:
    """The median over the seeds with so many clauses put in; −1: with the most."""
    return median(of(found, run.points[place]) for run in found.chosen(name))


def _named(name: Name) -> str:
    """As in the middle of a sentence."""
    return NETWORK[name].replace("Transformer", "transformer")
