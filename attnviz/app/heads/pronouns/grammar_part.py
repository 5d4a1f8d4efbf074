"""The grammar: the best head of each relation, all heads for one, and on which words the open one fails."""

from __future__ import annotations

import streamlit as st

from attnviz.app.heads.pronouns import choices, computing, grammar, grammar_cases, listing
from attnviz.app.heads.pronouns.choices import HeadSelection
from attnviz.app.job_view import counted, show_job
from attnviz.experiments.progress import Progress
from attnviz.experiments.relations import Grammar


def draw(chosen: HeadSelection) -> None:
    """Draw the sections; while the sentences are read, they stream."""
    grammar.introduce()
    with st.container(horizontal=True):
        looks = choices.which_way()
        sort = grammar.choose()
    overview = st.container()
    listed = st.container(border=True)
    with listed:
        which = listing.choose(chosen.name)
    job = computing.grammar(chosen)
    streamed = False

    def stream(latest: Progress[Grammar]) -> None:
        nonlocal streamed
        if job.running:
            streamed = True
            grammar.draw(chosen, latest, looks, sort, still=False)

    with overview:
        show_job(job, counted("Reading the sentences", "sentences"), stream, key="grammar")
    # A job may end right after it was drawn: what stands still is then drawn with the next run of the page.
    latest = None if streamed or job.running else job.latest
    if latest is not None:
        with overview:
            grammar.draw(chosen, latest, looks, sort, still=True)
    with listed:
        if latest is not None and latest.found.totals[sort]:
            grammar_cases.draw(chosen, latest.found, looks, sort, which)
        else:
            told = (
                "This list comes when all sentences are read." if job.running else "There is nothing to list."
            )
            st.markdown(told)
