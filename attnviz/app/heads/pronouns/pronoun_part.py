"""The pronouns: all heads, one of them, what it fails on, and the visitor's own pair."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.app.heads.pronouns import all_heads, asked, cases, choices, computing, listing, one_head, own
from attnviz.app.heads.pronouns.choices import HeadSelection
from attnviz.app.job_view import counted, show_job
from attnviz.experiments.pairs import Pair
from attnviz.experiments.progress import Progress
from attnviz.experiments.pronouns import Looks, Verdicts


def draw(chosen: HeadSelection) -> None:
    """Draw the sections; while the pairs are read, the map streams."""
    all_heads.introduce()
    with st.container(horizontal=True):
        looks = choices.who_looks(chosen)
        source = asked.choose_source()
    given = asked.pairs_of(source)
    overview = st.container()
    listed = st.container(border=True)
    with listed:
        which = listing.choose(chosen.name)
    latest = None
    if given:
        with overview:
            latest = _read(chosen, given, looks)
    with listed:
        if latest is not None and latest.found.pairs:
            cases.draw(chosen, latest.found, looks, which)
        else:
            reads = given and computing.verdicts(chosen, given).running
            st.markdown("This list comes when all pairs are read." if reads else "No pair has been read.")
    with st.container(border=True):
        own.draw(chosen, looks)


def _read(chosen: HeadSelection, given: Sequence[Pair], looks: Looks) -> Progress[Verdicts] | None:
    """Draw what all heads do, and the open one; return it once it stands still."""
    job = computing.verdicts(chosen, given)
    streamed = False

    def stream(latest: Progress[Verdicts]) -> None:
        nonlocal streamed
        if job.running:
            streamed = True
            all_heads.draw(chosen, latest, looks, still=False)

    show_job(job, counted("Reading the pairs", "pairs"), stream, key="pronouns")
    # A job may end right after it was drawn: what stands still is then drawn with the next run of the page.
    latest = None if streamed or job.running else job.latest
    if latest is None:
        return None
    all_heads.draw(chosen, latest, looks, still=True)
    if latest.found.pairs:
        left, right = st.columns([6, 7], gap="medium")
        with left:
            all_heads.table(chosen, latest.found, looks)
        with right.container(border=True):
            one_head.draw(chosen, latest.found, looks)
        all_heads.by_chance(latest.found.scores(looks), looks)
    return latest
