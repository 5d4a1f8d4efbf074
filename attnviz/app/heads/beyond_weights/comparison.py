"""All measures of one token, one below the other, headed by how well each agrees with leaving words out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import streamlit as st

from attnviz.analysis.rank_correlation import by_chance
from attnviz.app import markdown
from attnviz.app.folded import EVERYTHING
from attnviz.app.heads.beyond_weights.choices import TokenSelection, in_words, span, under
from attnviz.app.heads.beyond_weights.explained import HEADING, name_here
from attnviz.app.heads.beyond_weights.measures import Column, Line, Standing, measures
from attnviz.app.job_view import counted, show_job
from attnviz.app.models import lookup
from attnviz.app.server import warm_up
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state.choices import MEASURE, OPEN, QUERY
from attnviz.capture.model import Way
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
from attnviz.text import NO_NUMBER, isolated, joined, percent
from attnviz.trace import Mask

_SHARES = (HEAD_WEIGHTS, LAYER_WEIGHTS, ROLLOUT)


def draw(chosen: TokenSelection) -> None:
    """Draw the measures as they come in."""
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

    key = "beyond weights", entry.name, lookup.fingerprint(entry.name), text, kind, place
    return JOBS.find(key, steps)


def _draw(chosen: TokenSelection, progress: Progress[MeasuredToken]) -> None:
    found = progress.found
    counted = chosen.counted(found)
    rows = beyond_weights.rows(found, chosen.layer, chosen.head, counted)
    measures(
        "measures",
        [_line(chosen, row) for row in rows],
        [_column(chosen, found, counted, place) for place in chosen.shown()],
        title=f"What each measure says of {isolated(chosen.queries[chosen.query].label)}",
        agreement="agrees with leaving it out, from … to …",
        chosen=MEASURE.get(OCCLUSION),
        on_measure=_open_measure,
        on_token=lambda place: _open_token(chosen, place),
    )
    st.markdown(_finding(chosen, progress, rows, counted))
    for what, reason in {**found.missing, **_not_of_itself(found, counted)}.items():
        name = name_here(what, chosen.name)
        st.info(f"**{name}** is not here. {markdown.plain(reason)}", icon=":material/block:")


def _not_of_itself(found: MeasuredToken, counted: Mask) -> dict[str, str]:
    """Why some ways are not here when the token itself is ranked."""
    reasons = {
        "key masked": "The token itself cannot be left out so: its own vector goes around the attention.",
        "deleted": "The token itself cannot be left out so: deleted, it has no output.",
    }
    gone = set(found.left_out) - set(beyond_weights.ways(found, counted))
    return {way: reason for way, reason in reasons.items() if way in gone}


def _finding(
    chosen: TokenSelection, progress: Progress[MeasuredToken], rows: Sequence[Row], counted: Mask
) -> str:
    """The picture in words."""
    found = progress.found
    yardstick = [row for row in rows if row.measure == OCCLUSION]
    if not yardstick:
        return "" if OCCLUSION in found.missing else "Now each word is left out in turn …"
    if not counted.any():
        return f"{chosen.token} sees no other token that is ranked."
    agree = _agree(chosen, rows, yardstick, int(counted.sum()), "" if progress.finished else " so far")
    return f"{_moves_most(chosen, found, yardstick)} {agree}"


def _first(row: Row) -> int:
    """The token that a row ranks first."""
    return int(np.flatnonzero(row.ranks == row.ranks[row.ranks > 0].min())[0])


def _moves_most(chosen: TokenSelection, found: MeasuredToken, yardstick: Sequence[Row]) -> str:
    """What leaving words out does."""
    followed, ways = found.followed, [row.way for row in yardstick if row.way]
    where, what, to, unit = "", chosen.token, "", "1 − cosine of its output before and after"
    if followed is not None:
        expected = markdown.code(followed.text)
        where = (
            f"For {chosen.token} the model expects {expected}"
            if followed.kind == "masked"
            else f"After {chosen.token} comes {expected}"
            if followed.actual
            else f"After {chosen.token} the model expects {expected} most"
        )
        where = f"{where}, with {_probability(followed.probability)}. "
        what, to, unit = "that", "to ", ""
    by_token: dict[int, list[Way]] = {}
    for row, way in zip(yardstick, ways, strict=True):
        by_token.setdefault(_first(row), []).append(way)
    told = {most: _effects(found, some, most) for most, some in by_token.items()}
    if len(told) == 1:
        [(most, effects)] = told.items()
        is_ = f"{unit} is " if unit else ""
        return (
            f"{where}Of the ranked tokens, {chosen.called(most)}, left out, moves {what} most, "
            f"{under(ways)}: {is_}{to}{effects}."
        )
    each = "; ".join(
        f"{chosen.called(most)} ({joined(by_token[most])}: {to}{effects})" for most, effects in told.items()
    )
    numbers = f" The numbers are {unit}." if unit else ""
    return f"{where}Which ranked token moves {what} most depends on how it is left out: {each}.{numbers}"


def _effects(found: MeasuredToken, ways: Sequence[Way], token: int) -> str:
    """How far leaving a token out moves what is followed, in these ways: "0.031 to 0.2"."""
    if found.followed is None:
        numbers = sorted(float(found.left_out[way][token]) for way in ways)
        written = [f"{number:.2g}" for number in numbers]
    else:
        numbers = sorted(float(found.probabilities[way][token]) for way in ways)
        written = [_probability(number) for number in numbers]
    return " to ".join(dict.fromkeys((written[0], written[-1])))


def _agree(
    chosen: TokenSelection, rows: Sequence[Row], yardstick: Sequence[Row], count: int, so_far: str
) -> str:
    """Which measures order the words as leaving them out does, and whether chance could have done that.

    A measure beats chance where it does so under each way of leaving words out, corrected for how many
    measures are compared.
    """
    others = _compared(rows)
    chance = by_chance(count, max(1, len(others)))
    if chance is None or not others:
        tokens = f"{count} {'token' if count == 1 else 'tokens'}"
        return f"With {tokens} to rank and {len(others)} measures to compare, agreement would say nothing."
    firsts = {_first(row) for row in yardstick}
    first = sum(_first(row) in firsts and row.ranks[_first(row)] == 1 for row in others)
    told = (
        f"Of {len(others)} measures{so_far}, {first or 'none'} put{'s' if first == 1 else ''} "
        f"{'it' if len(firsts) == 1 else 'one of these'} first.\n\n"
    )
    beating = [row for row in others if chance.reached(row.agreements).all() and row.lowest > 0]
    reverse = [row for row in others if chance.reached(row.agreements).all() and row.highest < 0]
    shown = beating or others[:1]
    ways = [row.way for row in yardstick if row.way]
    at_what = f"chance at ordering the {count} tokens as leaving them out does, {under(ways)}"
    if beating:
        verb = "beats" if len(beating) == 1 else "beat"
        told += f"**{len(beating)} of {len(others)} measures{so_far} {verb} {at_what}:** "
    else:
        told += f"**No measure{so_far} beats {at_what}.** Nearest comes "
    told += f"{_listed(chosen, shown)}."
    head = next(row for row in rows if row.measure == HEAD_WEIGHTS)
    if head in others and head not in [*shown, *reverse]:
        told += f" The weights of head {chosen.name}: {span(head.lowest, head.highest)}."
    if reverse:
        told += f" Beyond chance too, but towards the reverse order: {_listed(chosen, reverse)}."
    return f"{told} (1 is the same order, −1 the reverse.)"


def _listed(chosen: TokenSelection, rows: Sequence[Row]) -> str:
    """Measures by name, with how far they agree, as Markdown."""
    return ", ".join(
        f"{name_here(row.measure, chosen.name)} ({span(row.lowest, row.highest)})" for row in rows
    )


def how_to_read(chosen: TokenSelection) -> None:
    """Say how the picture is read, and how far two orders agree by chance."""
    latest = job_of(chosen).latest
    if latest is None:
        st.markdown("This comes with the first measures.")
        return
    st.markdown(_how_to_read(latest.found))
    mask = chosen.counted(latest.found)
    rows = beyond_weights.rows(latest.found, chosen.layer, chosen.head, mask)
    others, count = _compared(rows), int(mask.sum())
    if chance := by_chance(count, max(1, len(others))):
        st.markdown(f"{in_words(chance, count, len(others), 'measures')} One sentence is an anecdote.")


def _compared(rows: Sequence[Row]) -> list[Row]:
    """The measures that can be compared with leaving words out."""
    return [row for row in rows if row.measure != OCCLUSION and not np.isnan(row.lowest)]


def _how_to_read(found: MeasuredToken) -> str:
    vectors = "the mean of all word vectors (mean vector)"
    if "mask vector" in found.left_out and found.mask_token is not None:
        vectors = f"that of {markdown.code(found.mask_token)} (mask vector) or by {vectors}"
    others = ""
    if "key masked" in found.left_out:
        others += "; or no other token may look at it, in any layer (key masked)"
    if "deleted" in found.left_out:
        others += "; or it is taken out, and all later tokens move up by one (deleted)"
    followed = "all numbers of its output, with their squares summed and the root taken"
    if found.followed is not None:
        followed = "the logarithm of that probability"
    return (
        "Each row has its own scale of colours. Where a row has one strong colour, all its values are "
        "nearly as large as the largest, and its ranks rest on small differences. How far two orders agree "
        "is Spearman’s rank correlation over the ranked tokens: 1 is the same order, −1 the reverse, 0 none. "
        "It is "
        "computed with each way of leaving words out; the bar goes from the lowest to the highest of them, "
        f"on a scale from −1 to 1. To leave a word out, its vector is replaced by {vectors}{others}. "
        f"The gradients are those of {followed}. Rollout and flow use the mean over heads, as in their paper."
    )


def _line(chosen: TokenSelection, row: Row) -> Line:
    places = list(chosen.shown())
    values = row.values[places]
    known = not np.isnan(row.lowest)
    return Line(
        row.measure,
        name_here(row.way or row.measure, chosen.name),
        span(row.lowest, row.highest) if known else "",
        (row.lowest, row.highest) if known else None,
        row.way is not None,
        np.nan_to_num(values),
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
    if np.isnan(value):
        return NO_NUMBER
    if measure not in _SHARES:
        return f"{value:.3g}"
    return percent(value, 1)


def _probability(share: float) -> str:
    """A small one keeps its digits, so that one sees it move."""
    return percent(share) if share >= 0.1 else f"{100 * share:.2g} %"


def _open_measure(measure: str) -> None:
    MEASURE.set(measure)
    if OPEN.get(None) != EVERYTHING:
        OPEN.set(HEADING)
    st.rerun()


def _open_token(chosen: TokenSelection, place: int) -> None:
    QUERY.pick(chosen.queries[place])
    st.rerun()
