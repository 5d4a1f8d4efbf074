"""The scores of all heads: a map, the best head, and a table."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any

import numpy as np
import streamlit as st

from attnviz.analysis.intervals import CONFIDENCE
from attnviz.analysis.table import facts_text
from attnviz.app import controls, markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.heads import texts
from attnviz.app.heads.score.choices import TestedHead
from attnviz.app.job_view import counted, show_job
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of, save_file
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state import link
from attnviz.app.state.choices import HEAD, LAYER, MODEL, TEXT
from attnviz.experiments.head_tests import beside
from attnviz.experiments.progress import Progress
from attnviz.experiments.scoring import COLUMNS, Found, Scores, Unit, measure, rows
from attnviz.text import NO_NUMBER, head_name, percent, plural

_INTERVAL = f"{100 * CONFIDENCE:g} % interval"


def draw(chosen: TestedHead) -> None:
    """Draw the scores; while the examples are read, the map shows what was found so far."""
    job = scores_of(chosen)

    def stream(progress: Progress[Found]) -> None:
        _map(chosen, progress.found[chosen.test.name], still=False)

    words = counted("Reading the examples", f"{chosen.test.source.unit}s")
    latest = show_job(job, words, stream, key="scores", only_running=True)
    if latest is None:
        return
    scores = latest.found[chosen.test.name]
    if scores.examples:
        left, right = st.columns([7, 5], gap="large")
        with left:
            _map(chosen, scores, still=True)
            _link(chosen)
        with right:
            st.markdown(f"{markdown.plain(chosen.test.question)}.")
            _best(chosen, scores)
            _skipped(scores)
        _table(chosen, scores)
    else:
        st.info("No example counts for this test and this model.", icon=":material/edit:")
        _skipped(scores)


def scores_of(chosen: TestedHead) -> Job[Found]:
    """Return the job that scores all heads, one for all tests with the same examples.

    Raises:
        AttnvizError: the examples are not written as they should be.
    """
    assert chosen.corpus is not None  # noqa: S101 - for the type checker
    corpus, name, tests = chosen.corpus, chosen.entry.name, beside(chosen.test)
    chosen.test.source.examples(corpus)  # here, since the job could only report it with a button to try again
    key = "score heads", chosen.test.source.name, chosen.entry, corpus.key
    return JOBS.find(key, lambda: measure(tests, corpus, name))


def _map(chosen: TestedHead, scores: Scores, *, still: bool) -> None:
    """Draw the map; heads can be picked only while nothing is being computed."""
    unit, mean, (_, baseline) = scores.unit, scores.mean, scores.baseline
    high = float(np.nanmax(np.stack([mean, baseline]), initial=0.0)) or 1.0
    head_map(
        "score map",
        title=f"{chosen.test.name}: score of each head",
        values=mean.astype(np.float32),
        texts=[_described(scores, *at) for at in np.ndindex(mean.shape)],
        low=(0.0, number(0.0, unit)),
        high=(high, number(high, unit)),
        printed=[_printed(each, unit) for each in mean.ravel().tolist()],
        selected=(chosen.layer, chosen.head),
        on_pick=controls.open_head if still else None,
    )


def _link(chosen: TestedHead) -> None:
    st.page_link(
        "pages/explore.py",
        label=f"Open head {chosen.name} in Explore",
        icon=":material/grid_view:",
        query_params=link.along(MODEL, TEXT, LAYER, HEAD),
    )


def _best(chosen: TestedHead, scores: Scores) -> None:
    """Draw the best head, chosen on one half of the examples, with its score on the other half."""
    unit, best = scores.unit, scores.best
    _, baseline = scores.baseline
    here = f"Head {chosen.name}, all {plural(scores.examples, 'example')}"
    lines = ["| Head | score | baseline |", "|---|---|---|"]
    if best is not None:
        score = with_interval(best.score, best.low, best.high, unit)
        name = head_name(best.layer, best.head)
        among = " (among the best)" if best.similar != 1 else ""
        lines.append(
            f"| **Head {name}**{among}, held-out half | **{score}** | {number(best.baseline, unit)} |"
        )
    low, high = (float(end[chosen.layer, chosen.head]) for end in scores.interval)
    score = with_interval(float(scores.mean[chosen.layer, chosen.head]), low, high, unit)
    lines.append(f"| {here} | {score} | {number(float(baseline[chosen.layer, chosen.head]), unit)} |")
    st.markdown("\n".join(lines))
    st.markdown(f":small[{' '.join(_notes(chosen, scores))}]")
    if best is not None and (best.layer, best.head) != (chosen.layer, chosen.head):
        name = head_name(best.layer, best.head)
        st.button(f"Open head {name}", on_click=controls.open_head, args=(best.layer, best.head))


def _notes(chosen: TestedHead, scores: Scores) -> Iterator[str]:
    """Yield what the numbers of the open head and of the best one mean."""
    if (best := scores.best) is not None:
        yield "First line: chosen on the other half of the examples."
        if best.similar is not None:
            yield f"Heads not significantly different there (paired sign test, 5 %): {best.similar - 1}."
    yield f"In brackets: {_INTERVAL}. Baseline: {markdown.plain(scores.baseline[0])}."
    if chosen.test.excluded and scores.unfiltered is not None:
        score = percent(float(scores.unfiltered[chosen.layer, chosen.head]))
        yield f"Excluded: {chosen.test.excluded}. Head {chosen.name} with nothing excluded: {score}."


def _skipped(scores: Scores) -> None:
    named = [f"{markdown.code(each.text)} {markdown.plain(each.why)}" for each in scores.reasons]
    texts.show_skipped(scores.skipped, named)


def _table(chosen: TestedHead, scores: Scores) -> None:
    """Draw all heads, the largest score first, and the button that saves them."""
    times = 1 if scores.unit == "tokens" else 100
    mean, (low, high), (strategy, baseline), weight = (
        scores.mean,
        scores.interval,
        scores.baseline,
        scores.weight,
    )
    count, ranking = scores.count.sum(axis=0), scores.ranking
    columns: dict[str, list[Any]] = {
        "head": [head_name(*at) for at in ranking],
        "score": [times * float(mean[at]) for at in ranking],
        "low": [times * float(low[at]) for at in ranking],
        "high": [times * float(high[at]) for at in ranking],
        "baseline": [times * float(baseline[at]) for at in ranking],
        "attention weight": [100 * float(weight[at]) for at in ranking],
        "examples": [int(count[layer]) for layer, _ in ranking],
    }
    if scores.unfiltered is not None:
        columns["nothing excluded"] = [times * float(scores.unfiltered[at]) for at in ranking]
    form = "%.2f" if scores.unit == "tokens" else "%.1f %%"
    helps = {
        "score": chosen.test.question,
        "low": f"Lower end of the {_INTERVAL} of this head by itself",
        "high": f"Upper end of the {_INTERVAL} of this head by itself",
        "baseline": strategy,
        "nothing excluded": f"The score where {chosen.test.excluded} count, too",
    }
    formats: dict[str, Any] = {
        name: st.column_config.NumberColumn(name, help=text, format=form) for name, text in helps.items()
    }
    formats["head"] = st.column_config.TextColumn("head", pinned=True, width="small")
    formats["attention weight"] = st.column_config.NumberColumn(
        "attention weight", help="The mean attention weight from which the score is made", format="%.1f %%"
    )
    st.dataframe(columns, column_config=formats, hide_index=True, height=320)
    save_file("Save as CSV", lambda: csv_of(chosen, scores), file_name(chosen), icon=":material/download:")


def csv_of(chosen: TestedHead, scores: Scores) -> str:
    """Return the table of all heads, with the model and the test in every row."""
    facts = {"model": chosen.entry.name, "question": chosen.test.question}
    return facts_text(facts, COLUMNS, rows(chosen.test.name, scores))


def file_name(chosen: TestedHead) -> str:
    """Return the name of the CSV file."""
    test = chosen.test.name.replace(" ", "-")
    return f"{file_name_of(lookup.called(chosen.entry))}-scores-{test}.csv"


def number(score: float, unit: Unit) -> str:
    """Write a score: "66 %", "3.2 tokens" or "–"."""
    if isnan(score):
        return NO_NUMBER
    return f"{score:.1f} tokens" if unit == "tokens" else percent(score)


def with_interval(score: float, low: float, high: float, unit: Unit) -> str:
    """Write a score with its interval, if it has one: "66 % (58–73)"."""
    if isnan(low) or isnan(score):
        return number(score, unit)
    ends = f"{low:.1f}–{high:.1f}" if unit == "tokens" else f"{100 * low:.0f}–{100 * high:.0f}"
    return f"{number(score, unit)} ({ends})"


def _described(scores: Scores, layer: int, head: int) -> str:
    low, high = (float(end[layer, head]) for end in scores.interval)
    score = with_interval(float(scores.mean[layer, head]), low, high, scores.unit)
    strategy, baseline = scores.baseline
    return f"{score}; baseline ({strategy}): {number(float(baseline[layer, head]), scores.unit)}"


def _printed(score: float, unit: Unit) -> str:
    if isnan(score):
        return ""
    return f"{score:.1f}" if unit == "tokens" else percent(score).removesuffix(" %").replace(" ", "")
