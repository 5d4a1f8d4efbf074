"""All measures of one token, one below the other, headed by how well each agrees with leaving words out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import streamlit as st

from attnviz.analysis.rank_correlation import by_chance
from attnviz.app import caches, markdown, warm_up
from attnviz.app.heads.beyond_weights.choices import TokenSelection, in_words
from attnviz.app.heads.beyond_weights.explained import name_here
from attnviz.app.heads.beyond_weights.measures import Column, Line, Standing, measures
from attnviz.app.job_view import counted, show_job
from attnviz.app.jobs import JOBS, Job
from attnviz.app.state.choices import MEASURE, QUERY
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
from attnviz.text import decimal, percent
from attnviz.trace import Mask

_SHARES = (HEAD_WEIGHTS, LAYER_WEIGHTS, ROLLOUT)  # whose rows sum to 100 %


def draw(chosen: TokenSelection) -> None:
    """Draw the measures as they come in."""
    st.header(f"What does {chosen.token} depend on?", anchor=False)
    show_job(
        job_of(chosen),
        counted("Measuring", "steps"),
        lambda progress: _draw(chosen, progress),
        key="beyond weights",
    )


def job_of(chosen: TokenSelection) -> Job[MeasuredToken]:
    """The computation behind the page; other heads and other choices of what is ranked need no new one."""
    entry, text, kind, place = chosen.entry, chosen.given.text, chosen.kind, chosen.query

    def steps() -> Iterator[Progress[MeasuredToken]]:
        warm_up.model(entry.name)
        yield from measured(entry.name, text, kind, place)

    return JOBS.find(("beyond weights", entry.name, caches.fingerprint(entry.name), text, kind, place), steps)


def _draw(chosen: TokenSelection, progress: Progress[MeasuredToken]) -> None:
    found = progress.found
    counted = chosen.counted(found)
    rows = beyond_weights.rows(found, chosen.layer, chosen.head, counted)
    st.markdown(_finding(chosen, progress, rows, counted))
    measures(
        "measures",
        [_line(chosen, row) for row in rows],
        [_column(chosen, found, counted, place) for place in chosen.shown()],
        title=f"What each measure says of {chosen.queries[chosen.query].label}",
        agreement="ρ with leaving it out",
        chosen=MEASURE.get(OCCLUSION),
        on_measure=_open_measure,
        on_token=lambda place: _open_token(chosen, place),
    )
    st.markdown(f":small[{_how_to_read(found, int(counted.sum()))}]")
    for measure, reason in found.missing.items():
        st.info(f"**{measure}** is not here. {markdown.plain(reason)}", icon=":material/block:")


def _finding(
    chosen: TokenSelection, progress: Progress[MeasuredToken], rows: Sequence[Row], counted: Mask
) -> str:
    """The picture in words."""
    found = progress.found
    yardstick = next((row for row in rows if row.measure == OCCLUSION), None)
    if yardstick is None:
        return "" if found.missing else "Now each word is left out in turn …"
    if not counted.any():
        return f"{chosen.token} sees no other token that could be ranked."
    agree = _agree(chosen, rows, yardstick, int(counted.sum()), "" if progress.finished else " so far")
    return f"{_moves_most(chosen, found, yardstick)} {agree}"


def _moves_most(chosen: TokenSelection, found: MeasuredToken, yardstick: Row) -> str:
    """What leaving words out does."""
    most = int(np.flatnonzero(yardstick.ranks == yardstick.ranks[yardstick.ranks > 0].min())[0])
    called = chosen.called(most)
    if found.followed is None or found.probabilities is None:
        return (
            f"Leaving out {called} moves {chosen.token} most: 1 − cosine of its output before and after is "
            f"{yardstick.values[most]:.2g}."
        )
    followed = found.followed
    expected = markdown.code(followed.text)
    where = (
        f"For {chosen.token} the model expects {expected}"
        if followed.kind == "masked"
        else f"After {chosen.token} comes {expected}"
        if followed.actual
        else f"After {chosen.token} the model expects {expected} most"
    )
    return (
        f"{where}, with {_probability(followed.probability)}. Leaving out {called} moves that most: to "
        f"{_probability(float(found.probabilities[most]))}."
    )


def _agree(chosen: TokenSelection, rows: Sequence[Row], yardstick: Row, count: int, so_far: str) -> str:
    """Which measures order the words as leaving them out does, and whether chance could have done that."""
    others = [row for row in rows if row is not yardstick and not np.isnan(row.agreement)]
    chance = by_chance(count)
    if chance is None or not others:
        return f"With {count} {'token' if count == 1 else 'tokens'} to rank, agreement would say nothing."
    most = int(np.argmax(np.where(yardstick.ranks > 0, yardstick.values, -1)))
    first = sum(row.ranks[most] == 1 for row in others)
    told = (
        f"Of {len(others)} measures{so_far}, {first or 'none'} put{'s' if first == 1 else ''} it first.\n\n"
    )

    far = chance.reached(np.array([row.agreement for row in others]))
    beating = [row for row, reached in zip(others, far, strict=True) if reached and row.agreement > 0]
    reverse = [row for row, reached in zip(others, far, strict=True) if reached and row.agreement < 0]
    shown = beating or others[:1]
    at_what = f"chance at ordering the {count} tokens as leaving them out does"
    if beating:
        verb = "beats" if len(beating) == 1 else "beat"
        told += f"**{len(beating)} of {len(others)} measures{so_far} {verb} {at_what}:** "
    else:
        told += f"**No measure{so_far} beats {at_what}.** Nearest comes "
    told += f"{_listed(chosen, shown)}."
    head = next(row for row in rows if row.measure == HEAD_WEIGHTS)
    if head in others and head not in [*shown, *reverse]:
        told += f" The weights of head {chosen.name} have ρ = {decimal(head.agreement)}."
    if reverse:
        told += f" Beyond chance too, but towards the reverse order: {_listed(chosen, reverse)}."
    return f"{told} {in_words(chance, count)} One sentence is an anecdote."


def _listed(chosen: TokenSelection, rows: Sequence[Row]) -> str:
    """Measures by name, with their ρ, as Markdown."""
    return ", ".join(f"{name_here(row.measure, chosen.name)} (ρ = {decimal(row.agreement)})" for row in rows)


def _how_to_read(found: MeasuredToken, count: int) -> str:
    stand_in = "the mean of all word vectors"
    if found.stand_in is not None:
        stand_in = f"that of {markdown.code(found.stand_in)}"
    followed = "all numbers of its output, with their squares summed and the root taken"
    if found.followed is not None:
        followed = "the logarithm of that probability"
    return (
        "Each row has its own scale of colours. Where a row is dark all over, all its values are nearly as "
        "large as the largest, and its ranks rest on small differences. ρ is Spearman’s rank correlation "
        f"over the {count} tokens that are ranked: 1 is the same order, −1 the reverse, 0 none. To leave a "
        f"word out, its vector is replaced by {stand_in}. The gradients are those of {followed}. Rollout and "
        "flow use the mean over heads, as in their paper."
    )


def _line(chosen: TokenSelection, row: Row) -> Line:
    places = list(chosen.shown())
    values = row.values[places]
    return Line(
        row.measure,
        name_here(row.measure, chosen.name),
        "" if row.measure == OCCLUSION or np.isnan(row.agreement) else decimal(row.agreement),
        values,
        [_number(row.measure, value) for value in values.tolist()],
        row.ranks[places],
    )


def _column(chosen: TokenSelection, found: MeasuredToken, counted: Mask, place: int) -> Column:
    group = chosen.queries[place]
    standing: Standing = "aside"
    if not found.seen[place]:
        standing = "unseen"
    elif counted[place]:
        standing = "counted"
    elif place == chosen.query:
        standing = "itself"
    return Column(group.label, group.title, standing, place)


def _number(measure: str, value: float) -> str:
    """With three digits; a share as a percentage, which never reads as 0 where it is not."""
    if measure not in _SHARES:
        return f"{value:.3g}"
    return percent(value, 1)


def _probability(share: float) -> str:
    """A small one keeps its digits, so that one sees it move."""
    return percent(share) if share >= 0.1 else f"{100 * share:.2g} %"


def _open_measure(measure: str) -> None:
    MEASURE.set(measure)
    st.rerun()


def _open_token(chosen: TokenSelection, place: int) -> None:
    QUERY.pick(chosen.queries[place])
    st.rerun()
