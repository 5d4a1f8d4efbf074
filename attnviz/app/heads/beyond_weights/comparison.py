"""All measures for one token, sorted by their agreement with occlusion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import streamlit as st

from attnviz.app import markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.folded import EVERYTHING
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.heads.beyond_weights.explained import HEADING, measure_name
from attnviz.app.job_view import progress_text, show_job
from attnviz.app.server import warm_up
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state.choices import MEASURE, OPEN
from attnviz.experiments import beyond_weights
from attnviz.experiments.beyond_weights import (
    HEAD_WEIGHTS,
    LAYER_WEIGHTS,
    OCCLUSION,
    ROLLOUT,
    MeasuredToken,
    Row,
    measure_token,
)
from attnviz.experiments.progress import Progress
from attnviz.text import NO_NUMBER, isolated, percent
from attnviz.trace import Mask

_SHARES = (HEAD_WEIGHTS, LAYER_WEIGHTS, ROLLOUT)


def draw(chosen: TokenSelection) -> None:
    """Draw the measures as they are computed."""
    show_job(
        job_of(chosen),
        progress_text("Measuring", "steps"),
        lambda progress: _draw(chosen, progress.found),
        key="beyond weights",
    )


def job_of(chosen: TokenSelection) -> Job[MeasuredToken]:
    """Return the job that computes the measures, for all heads."""
    entry, text, kind, place = chosen.entry, chosen.given.text, chosen.kind, chosen.query

    def steps() -> Iterator[Progress[MeasuredToken]]:
        warm_up.model(entry)
        yield from measure_token(entry.name, text, kind, place)

    key = "beyond weights", entry, text, kind, place
    return JOBS.find(key, steps)


def _draw(chosen: TokenSelection, found: MeasuredToken) -> None:
    ranked = chosen.ranked(found)
    rows = beyond_weights.rows(found, chosen.layer, chosen.head, ranked)
    st.markdown(
        f"Each row measures how much the other tokens matter to {chosen.token}. Numbers are ranks: **1** is "
        "the largest value of the row. Colours show values. *Occlusion* replaces or deletes one token at a "
        "time; the other rows are sorted by agreement with occlusion."
    )
    _measures(chosen, found, rows, ranked)
    st.markdown(_measured_outcome(chosen, found))
    for measure, reason in found.missing.items():
        name = measure_name(measure, chosen.name)
        st.info(f"**{name}** is not available. {markdown.plain(reason)}", icon=":material/block:")


def _measures(chosen: TokenSelection, found: MeasuredToken, rows: Sequence[Row], ranked: Mask) -> None:
    """Draw the rows, occlusion first, coloured from 0 to the row's largest value among ranked tokens."""
    places = list(chosen.shown())
    values = np.array([np.where(ranked, row.values, np.nan)[places] for row in rows], np.float32)
    largest = np.nanmax(values, axis=1, keepdims=True, initial=np.finfo(np.float32).tiny)
    texts, printed = [], []
    for row in rows:
        for place in places:
            rank = f"rank {row.ranks[place]:g} of {ranked.sum()}"
            if not row.ranks[place]:
                rank = "the token itself, not ranked" if found.visible[place] else "masked"
            texts.append(f"{_number(row.measure, float(row.values[place]))}, {rank}")
            printed.append(f"{row.ranks[place]:g}" if row.ranks[place] else "")
    names = [measure_name(row.method or row.measure, chosen.name) for row in rows]
    named = [row.measure for row in rows]
    at = named.index(open_now) if (open_now := MEASURE.get(OCCLUSION)) in named else 0
    title = f"Measures for the token “{isolated(chosen.queries[chosen.query].label)}”"
    head_map(
        "measures",
        title=f"{title}: rank in the row",
        values=values / largest,
        texts=texts,
        printed=printed,
        low=(0, "0"),
        high=(1, "largest"),
        selected=(at, int(np.nan_to_num(values[at], nan=-1).argmax())),
        row_labels=names,
        column_labels=[chosen.queries[place].label for place in places],
        on_pick=lambda row, _: _open_measure(rows[row].measure),
    )


def _measured_outcome(chosen: TokenSelection, found: MeasuredToken) -> str:
    """Return the outcome measured by occlusion, as Markdown."""
    if OCCLUSION in found.missing:
        return ""
    if not found.occluded:
        return "Each token is replaced or deleted in turn …"
    if found.target is None:
        change = f"the change of the output of {chosen.token}: 1 − cosine of the two outputs"
        return f"Occlusion measures {change}."
    likely = f"{markdown.code(found.target.text)} (probability {percent(found.target.probability, 1)})"
    where = "in place of" if found.target.kind == "masked" else "after"
    prediction = f"the prediction {likely} {where} {chosen.token}"
    return f"Occlusion measures the change of the log-probability of {prediction}."


def _number(measure: str, value: float) -> str:
    """Format a number with three significant digits, or a fraction as a percentage; only 0 is shown as 0."""
    if np.isnan(value):
        return NO_NUMBER
    return percent(value, 1) if measure in _SHARES else f"{value:.3g}"


def _open_measure(measure: str) -> None:
    MEASURE.set(measure)
    if OPEN.get(None) != EVERYTHING:
        OPEN.set(HEADING)
    st.rerun()
