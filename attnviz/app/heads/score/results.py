"""The scores of all heads: a map, the best head, and a table."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import streamlit as st

from attnviz.analysis.intervals import CONFIDENCE
from attnviz.analysis.table import csv_with_metadata
from attnviz.app import controls, markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.heads import texts
from attnviz.app.heads.score.choices import TestedHead
from attnviz.app.job_view import progress_text, show_job
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of, save_file
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state import link
from attnviz.app.state.choices import HEAD, LAYER, MODEL, TEXT
from attnviz.experiments.head_tests import tests_of_source
from attnviz.experiments.progress import Progress
from attnviz.experiments.scoring import COLUMNS, Found, Scores, measure, rows
from attnviz.text import NO_NUMBER, head_name, percent

_INTERVAL = f"{100 * CONFIDENCE:g} % confidence interval"

_HELP = {
    "low": f"Lower end of the {_INTERVAL}.",
    "high": f"Upper end of the {_INTERVAL}.",
    "attention weight": "Mean weight of the head on the tokens that determine the score.",
}


def draw(chosen: TestedHead) -> None:
    """Draw the scores; while the examples are read, the map shows the scores so far."""
    job = scores_of(chosen)

    def stream(progress: Progress[Found]) -> None:
        _map(chosen, progress.found[chosen.test.name], final=False)

    status = progress_text("Reading the examples", f"{chosen.test.source.unit}s")
    st.markdown(f"{markdown.plain(chosen.test.question)}.")
    latest = show_job(job, status, stream, key="scores", only_running=True)
    if latest is None:
        return
    scores = latest.found[chosen.test.name]
    if scores.examples:
        left, right = st.columns([7, 5], gap="large")
        with left:
            _map(chosen, scores, final=True)
            _link(chosen)
        with right:
            _best(chosen, scores)
            _skipped(scores)
        _table(chosen, scores)
    else:
        st.info(
            "The model cannot use any of the examples; the reasons are below. Choose another model, or paste "
            "your own examples.",
            icon=":material/edit:",
        )
        _skipped(scores)


def scores_of(chosen: TestedHead) -> Job[Found]:
    """Return the job that scores all heads in all tests that use the same examples.

    Raises:
        AttnvizError: the examples have an invalid format.
    """
    assert chosen.corpus is not None  # noqa: S101 - for the type checker
    corpus, name, tests = chosen.corpus, chosen.entry.name, tests_of_source(chosen.test)
    chosen.test.source.parse(corpus)  # before the job: restarting a job cannot repair the examples
    key = "score heads", chosen.test.source.name, chosen.entry, corpus.key
    return JOBS.find(key, lambda: measure(tests, corpus, name))


def _map(chosen: TestedHead, scores: Scores, *, final: bool) -> None:
    """Draw the map; heads can be selected only if the scores are `final`."""
    mean, (low, high), (strategy, baseline) = scores.mean, scores.interval, scores.baseline
    highest = float(np.nanmax(np.stack([mean, baseline]), initial=0.0)) or 1.0
    head_map(
        "score map",
        title=f"{chosen.test.name}: score of each head",
        values=mean.astype(np.float32),
        texts=[
            with_interval(*each) + (f"; baseline: {number(chance)}" if strategy else "")
            for *each, chance in np.stack([mean, low, high, baseline], axis=-1).reshape(-1, 4).tolist()
        ],
        low=(0.0, number(0.0)),
        high=(highest, number(highest)),
        printed=[number(each).strip("–%").replace(" ", "") for each in mean.ravel().tolist()],
        selected=(chosen.layer, chosen.head),
        on_pick=controls.open_head if final else None,
    )


def _link(chosen: TestedHead) -> None:
    st.page_link(
        "pages/explore.py",
        label=f"Open head {chosen.name} in Explore",
        icon=":material/grid_view:",
        query_params=link.parameters(MODEL, TEXT, LAYER, HEAD),
    )


def _best(chosen: TestedHead, scores: Scores) -> None:
    """Draw the scores of the best head, chosen and tested on different halves, and of the selected head."""
    best, (low, high), (strategy, baseline) = scores.best, scores.interval, scores.baseline
    lines = ["| Head | score | baseline |", "|---|---|---|"]
    unit = chosen.test.source.unit
    if best is not None:
        name = head_name(best.layer, best.head)
        score = with_interval(best.score, best.low, best.high)
        lines.append(
            f"| **Head {name}**, chosen for its score on half of the {unit}s, tested on the other half "
            f"| **{score}** | {number(best.baseline)} |"
        )
    at = chosen.layer, chosen.head
    score = with_interval(scores.mean[at], low[at], high[at])
    selected = f"Head {chosen.name}, all examples ({scores.examples:,})"
    lines.append(f"| {selected} | {score} | {number(baseline[at])} |")
    st.markdown("\n".join(lines).replace("–", "\N{WORD JOINER}–\N{WORD JOINER}"))
    every = ""
    if scores.unfiltered is not None:
        every = f" Score of head {chosen.name} if no tokens are excluded: {number(scores.unfiltered[at])}."
    st.markdown(f":small[In brackets: {_INTERVAL}. Baseline: {markdown.plain(strategy)}.{every}]")
    if best is not None and (best.layer, best.head) != at:
        st.button(f"Open head {name}", on_click=controls.open_head, args=(best.layer, best.head))


def _skipped(scores: Scores) -> None:
    named = [f"{markdown.code(each.text)} {markdown.plain(each.reason)}" for each in scores.reasons]
    texts.show_skipped(scores.skipped, named)


def _table(chosen: TestedHead, scores: Scores) -> None:
    """Draw a table of all heads, the largest score first, and the button that saves it."""
    shares = ["score", "low", "high", "baseline score", "attention weight"]
    shares += ["score without exclusions"] if scores.unfiltered is not None else []
    table = [
        {
            "head": head_name(row["layer"] - 1, row["head"] - 1),
            **{name: None if row[name] == "" else 100 * row[name] for name in shares},
            "examples": row["examples"],
        }
        for row in (dict[str, Any](zip(COLUMNS, each, strict=True)) for each in rows("", scores))
    ]
    st.dataframe(
        table,
        column_config={
            "head": st.column_config.TextColumn(pinned=True, width="small"),
            **{
                name: st.column_config.NumberColumn(format="%.1f %%", help=_HELP.get(name)) for name in shares
            },
        },
        hide_index=True,
        height=320,
    )
    save_file("Save as CSV", lambda: csv_of(chosen, scores), file_name(chosen), icon=":material/download:")


def csv_of(chosen: TestedHead, scores: Scores) -> str:
    """Return the table of all heads, with the model and the test in every row."""
    facts = {"model": chosen.entry.name, "question": chosen.test.question}
    return csv_with_metadata(facts, COLUMNS, rows(chosen.test.name, scores))


def file_name(chosen: TestedHead) -> str:
    """Return the name of the CSV file."""
    test = chosen.test.name.replace(" ", "-")
    return f"{file_name_of(lookup.display_name(chosen.entry))}-scores-{test}.csv"


def number(score: float) -> str:
    """Format a score: "66 %" or "–"."""
    return NO_NUMBER if isnan(score) else percent(float(score))


def with_interval(score: float, low: float, high: float) -> str:
    """Format a score with its interval, if it has one: "66 % (58–73)"."""
    return number(score) if isnan(score + low) else f"{number(score)} ({100 * low:.0f}–{100 * high:.0f})"
