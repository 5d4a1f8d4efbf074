"""The lesson "Long distances": stored results of an LSTM, an LSTM with attention, and a transformer."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.app.components.curves import Axis, Colour, Line, Marker, curves
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.long_distances import values
from attnviz.app.lessons.long_distances.values import Results
from attnviz.text import percent
from attnviz.trained.translator import distance
from attnviz.trained.translator.distance import NAMES, Distances, Name

_LOOK: dict[Name, tuple[Marker, Colour]] = {
    "lstm": ("square", "text"),
    "lstm_attention": ("diamond", "query"),
    "transformer": ("circle", "weights"),
}
_LABEL_HEIGHT = 15  # percent on the vertical axis; between the curves


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("long_distances") as page:
        found = distance.read()
        results = {name: values.results(found, name) for name in NAMES}
        shown = values.distances_shown(found)
        words = [found.words[place] for place in shown]
        exact = {name: np.median(result.exact, axis=0) for name, result in results.items()}
        medians = {name: median[shown].tolist() for name, median in exact.items()}
        seeds = len(results["lstm"].exact)
        rates = len({run.learning_rate for run in found.runs})
        with page.picture:
            _chart(page, found, results)
        trained = slice(found.max_trained_clauses + 1)
        lowest = {name: float(median[trained].min()) for name, median in exact.items()}
        page.explain(
            clauses=found.max_trained_clauses,
            seeds=seeds,
            lstm=lowest["lstm"],
            lowest=min(lowest["lstm_attention"], lowest["transformer"]),
        )
        with page.beside:
            page.text("table", clauses=shown, words=words, **medians)
        page.predict(of_sentence=False, words=words, **medians)
        pronouns = {name: result.pronoun[:, found.max_trained_clauses] for name, result in results.items()}
        shares_by_seed = {name: ", ".join(map(percent, shares)) for name, shares in pronouns.items()}
        page.further(
            page.text_section(
                "pronoun", clauses=found.max_trained_clauses, words=words, seeds=seeds, **shares_by_seed
            ),
            page.text_section(
                "contest",
                rates=rates,
                seeds=seeds,
                steps=f"{found.runs[0].steps:,}",
                runs=len(found.runs),
                sentences=found.sentences,
                **{name: result.learning_rate for name, result in results.items()},
            ),
        )


def _chart(page: LessonPage, found: Distances, results: dict[Name, Results]) -> None:
    """Draw the median and range over the seeds, and a line at the longest distance in training."""
    words = [round(apart, 1) for apart in found.words]
    longest = words[found.max_trained_clauses]
    lines, medians = [], dict[str, str]()
    for name, result in results.items():
        median, low, high = (100 * measure(result.exact, axis=0) for measure in (np.median, np.min, np.max))
        marker, colour = _LOOK[name]
        printed = ["" for _ in words[:-1]] + [f"{median[-1]:.0f} %" if name != "lstm" else ""]
        lines.append(
            Line(page.label(name), words, median, low, high, marker=marker, colour=colour, printed=printed)
        )
        medians[name] = ", ".join(f"{share:.0f}" for share in median)
    printed = [page.label("trained")]
    end = Line("", [longest], [_LABEL_HEIGHT], dash=None, colour="muted", printed=printed, before=True)
    seeds = len(results["lstm"].exact)
    st.header(page.label("title"), anchor=False)
    curves(
        "distance-exact",
        [*lines, end],
        title=page.label("title"),
        x_axis=Axis(page.label("across"), at=page.label("at")),
        y_axis=Axis(page.label("up"), zero=True, digits=0),
        marked=longest,
        height=280,
        alt=page.label("alt", seeds=seeds, words=", ".join(map(str, words)), longest=longest, **medians),
    )
    st.markdown(f":small[{page.label('points', seeds=seeds)}]")
