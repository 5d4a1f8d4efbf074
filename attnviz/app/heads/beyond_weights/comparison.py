"""All measures of one token, one below the other, with the agreement of each with occlusion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import streamlit as st

from attnviz.analysis.rank_correlation import SELDOM, critical_value, rounded_up
from attnviz.app import markdown
from attnviz.app.folded import EVERYTHING
from attnviz.app.heads.beyond_weights.choices import TokenSelection, span
from attnviz.app.heads.beyond_weights.explained import HEADING, measure_name
from attnviz.app.heads.beyond_weights.measures import Column, Line, Standing, measures
from attnviz.app.job_view import counted, show_job
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
    measured,
)
from attnviz.experiments.progress import Progress
from attnviz.text import NO_NUMBER, isolated, percent, plural
from attnviz.trace import Mask

_SHARES = (HEAD_WEIGHTS, LAYER_WEIGHTS, ROLLOUT)


def draw(chosen: TokenSelection) -> None:
    """Draw the measures as they are computed."""
    show_job(
        job_of(chosen),
        counted("Measuring", "steps"),
        lambda progress: _draw(chosen, progress),
        key="beyond weights",
    )


def job_of(chosen: TokenSelection) -> Job[MeasuredToken]:
    """Return the page's job; it covers all heads and all choices of ranked tokens."""
    entry, text, kind, place = chosen.entry, chosen.given.text, chosen.kind, chosen.query

    def steps() -> Iterator[Progress[MeasuredToken]]:
        warm_up.model(entry)
        yield from measured(entry.name, text, kind, place)

    key = "beyond weights", entry, text, kind, place
    return JOBS.find(key, steps)


def _draw(chosen: TokenSelection, progress: Progress[MeasuredToken]) -> None:
    found = progress.found
    counted = chosen.counted(found)
    rows = beyond_weights.rows(found, chosen.layer, chosen.head, counted)
    st.markdown(
        f"Which tokens matter to {chosen.token}? Each row is one measure; **1** is the token that matters "
        "most. Compare the rows with *occlusion*, which removes one token at a time."
    )
    measures(
        "measures",
        [_line(chosen, row) for row in rows],
        [_column(chosen, found, counted, place) for place in chosen.shown()],
        title=f"Measures for the token “{isolated(chosen.queries[chosen.query].label)}”",
        agreement="Spearman’s ρ with occlusion",
        chosen=MEASURE.get(OCCLUSION),
        on_measure=_open_measure,
    )
    st.markdown(_followed(chosen, found))
    if found.omitted:
        st.markdown(f":small[{chance_level(rows, int(counted.sum()))}]")
    for what, reason in found.missing.items():
        name = measure_name(what, chosen.name)
        st.info(f"**{name}** is not available. {markdown.plain(reason)}", icon=":material/block:")


def _followed(chosen: TokenSelection, found: MeasuredToken) -> str:
    """Return the outcome measured by occlusion, as Markdown."""
    if OCCLUSION in found.missing:
        return ""
    if not found.omitted:
        return "Each token is removed in turn …"
    if found.followed is None:
        return f"Measured outcome: the output of {chosen.token}, as 1 − cosine."
    likely = f"{markdown.code(found.followed.text)} ({_probability(found.followed.probability)})"
    where = "in place of" if found.followed.kind == "masked" else "after"
    return f"Measured outcome: the log-probability of {likely} {where} {chosen.token}."


def chance_level(rows: Sequence[Row], count: int) -> str:
    """Return the chance level of |ρ| for this number of tokens, corrected for the number of measures."""
    compared = sum(row.measure != OCCLUSION and not np.isnan(row.lowest) for row in rows)
    bound = critical_value(count, max(1, compared))
    if bound is None or not compared:
        return f"{plural(count, 'token')} ranked: too few to compare two orders."
    return (
        f"Agreement: Spearman’s ρ over {count} tokens. Chance level for {plural(compared, 'measure')}: "
        f"|ρ| = {rounded_up(bound)} (p ≤ {percent(SELDOM)} for any of them, Bonferroni)."
    )


def how_to_read(chosen: TokenSelection) -> None:
    """Explain how to read the picture."""
    latest = job_of(chosen).latest
    if latest is None:
        st.markdown("This appears with the first measures.")
        return
    st.markdown(_how_to_read(latest.found))


def _how_to_read(found: MeasuredToken) -> str:
    vectors = "the mean of all word vectors (mean vector)"
    if "mask vector" in found.omitted and found.mask_token is not None:
        vectors = f"that of {markdown.code(found.mask_token)} (mask vector) or by {vectors}"
    others = ""
    if "deleted" in found.omitted:
        others += "; or it is removed, and all later tokens move up by one (deleted)"
    followed = "all numbers of its output, combined as √Σ²"
    if found.followed is not None:
        followed = "the logarithm of that probability"
    return (
        "Each row has its own colour scale. Where a row has one strong colour, all its values are "
        "nearly equal, and its ranks depend on small differences. Agreement is Spearman’s rank correlation "
        "over the ranked tokens: 1 is the same order, −1 the reverse, 0 no correlation. The range beside a "
        "name covers all occlusion methods. "
        f"To remove a token, its vector is replaced by {vectors}{others}. "
        f"The gradients are those of {followed}. Rollout uses the mean over heads, as in its paper."
    )


def _line(chosen: TokenSelection, row: Row) -> Line:
    places = list(chosen.shown())
    values = row.values[places]
    known = not np.isnan(row.lowest)
    return Line(
        row.measure,
        measure_name(row.way or row.measure, chosen.name),
        span(row.lowest, row.highest) if known else "",
        np.nan_to_num(values),
        [_number(row.measure, value) for value in values.tolist()],
        row.ranks[places],
    )


def _column(chosen: TokenSelection, found: MeasuredToken, counted: Mask, place: int) -> Column:
    standing: Standing = "aside"
    if not found.seen[place]:
        standing = "unseen"
    elif counted[place]:
        standing = "counted"
    elif place == chosen.query:
        standing = "itself"
    return Column(chosen.queries[place].label, standing)


def _number(measure: str, value: float) -> str:
    """Format with three digits, or a fraction as a percentage, which reads as 0 only if it is 0."""
    if np.isnan(value):
        return NO_NUMBER
    if measure not in _SHARES:
        return f"{value:.3g}"
    return percent(value, 1)


def _probability(share: float) -> str:
    """Format a probability; a small one keeps its digits, so that changes are visible."""
    return percent(share) if share >= 0.1 else f"{100 * share:.2g} %"


def _open_measure(measure: str) -> None:
    MEASURE.set(measure)
    if OPEN.get(None) != EVERYTHING:
        OPEN.set(HEADING)
    st.rerun()
