"""A job on a page: its progress, its buttons, and what it has found so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from attnviz.app import markdown
from attnviz.app.server.jobs import RUNNING, Job, State
from attnviz.app.state import memory
from attnviz.experiments.progress import Progress

Found = TypeVar("Found")

Words = Callable[[State, Progress[Any] | None], str]
"""(state, latest) → the text over the progress bar, as Markdown; "": there is no bar."""

_EVERY_SECONDS = 1.0


def show_job(
    job: Job[Found],
    words: Words,
    draw: Callable[[Progress[Found]], None] | None = None,
    *,
    key: str,
    start: str = "",
    mine: bool = True,
    only_running: bool = False,
) -> Progress[Found] | None:
    """Draw the progress of a job, the buttons that start and stop it, and what it has found so far.

    While it runs, this part of the page is drawn every second; when it ends, the whole page is drawn once.

    Args:
        job: the job. If it does not resume, the page itself has the button that begins it anew.
        words: the text over the progress bar.
        draw: draws what was found so far.
        key: prefix of the buttons' keys.
        start: the label of the button that starts it; "": it starts by itself.
        mine: whether this visitor can start and stop it; if not, they only see it.
        only_running: whether `draw` is called only while the job runs.

    Returns:
        What was found if the job did not run when it was drawn; else None.
    """
    visitor = memory.visitor()
    state = job.state_for(visitor)
    starts = job.resumes and (state == "unwatched" or (state == "not begun" and not start))
    if mine and (starts or state in RUNNING):
        job.start(visitor)
    was_running = job.state_for(visitor) in RUNNING

    def button(name: str, press: Callable[..., None], icon: str, label: str = "") -> None:
        look = f"{key} {name.lower()}", f":material/{icon}:"
        st.button(label or name, key=look[0], on_click=press, args=(visitor,), icon=look[1])

    def show() -> None:
        if mine and was_running:
            job.watch(visitor)
        state, latest = job.state_for(visitor), job.latest
        if (state in RUNNING) != was_running:
            st.rerun()  # `run_every` is set where the whole page is drawn
        if state == "refused":
            st.error(markdown.plain(job.problem), icon=":material/block:")
            if job.resumes:
                button("Try again", job.start, "refresh")
        elif state == "not begun":
            button("start", job.start, "play_arrow", start)
        elif text := words(state, latest):
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.progress(latest.done / latest.total if latest and latest.total else 0.0, text)
                if was_running and mine:
                    button("Stop", job.stop, "stop")
                elif job.resumes and not was_running:
                    button("Go on", job.start, "play_arrow")
        if draw is not None and latest is not None and (was_running or not only_running):
            draw(latest)

    st.fragment(show, run_every=_EVERY_SECONDS if was_running else None)()
    return None if was_running else job.latest


def counted(doing: str, unit: str) -> Words:
    """Return the text for a job that counts: "Reading: 20 of 100 sentences"."""

    def words(state: State, latest: Progress[Any] | None) -> str:
        if state == "finished":
            return ""
        if state == "queued":
            return f"{doing}: waiting for its turn on this server"
        far = f"{latest.done:,} of {latest.total:,} {unit}" if latest else ""
        if state in RUNNING:
            return f"{doing}: {far}" if far else f"{doing} …"
        return f"Stopped after {far}. The results so far are kept." if far else "Stopped."

    return words
