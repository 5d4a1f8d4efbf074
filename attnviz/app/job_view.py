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
    """Draw the progress of a job, the buttons that stop and start it, and what it has found so far.

    While it runs, this part of the page is drawn every second; when it ends, the whole page is drawn once.

    Args:
        job: the job. If it does not resume, the page has the button that begins it anew.
        words: the text over the progress bar.
        draw: draws what was found so far.
        key: prefix of the buttons' keys.
        start: the label of the button that starts it; "": it starts by itself.
        mine: whether this visitor can start and stop it; if not, they only see it.
        only_running: whether `draw` is called only while the job runs.

    Returns:
        What was found if the job did not run when it was drawn; else None.
    """
    visitor, stopped = memory.visitor(), is_stopped(job, key)

    def run() -> None:
        memory.put(_stopped(key), None)
        job.start(visitor)

    def stop() -> None:
        memory.put(_stopped(key), job)
        job.stop(visitor)

    def current_state() -> State:
        return "paused" if stopped and job.running else job.state

    waits = bool(start) and job.latest is None and job.state == "paused"
    if mine and not stopped and not waits and (job.running or (job.state == "paused" and job.resumes)):
        job.start(visitor)
    was_running = current_state() in RUNNING

    def show() -> None:
        if mine and was_running:
            job.watch(visitor)
        state, latest = current_state(), job.latest
        if (state in RUNNING) != was_running:
            st.rerun()  # `run_every` is set where the whole page is drawn
        if state == "refused":
            st.error(markdown.plain(job.problem), icon=":material/block:")
            if job.resumes:
                st.button("Try again", key=f"{key} try again", on_click=run, icon=":material/refresh:")
        elif waits:
            st.button(start, key=f"{key} start", on_click=run, icon=":material/play_arrow:")
        elif text := words(state, latest):
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.progress(latest.done / latest.total if latest and latest.total else 0.0, text)
                if was_running and mine:
                    st.button("Stop", key=f"{key} stop", on_click=stop, icon=":material/stop:")
                elif job.resumes and not was_running:
                    st.button("Go on", key=f"{key} go on", on_click=run, icon=":material/play_arrow:")
        if draw is not None and latest is not None and (was_running or not only_running):
            draw(latest)

    st.fragment(show, run_every=_EVERY_SECONDS if was_running else None)()
    return None if was_running else job.latest


def is_stopped(job: Job[Any], key: str) -> bool:
    """Return whether this visitor has stopped the job, although it may run for others."""
    return memory.get(_stopped(key)) is job


def _stopped(key: str) -> str:
    return f"the job that was stopped: {key}"


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
