"""A job on a page: its progress, its buttons, and what it has found so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from attnviz.app import markdown
from attnviz.app.server.jobs import Job
from attnviz.experiments.progress import Progress

Found = TypeVar("Found")

Words = Callable[[Job[Any]], str]
"""Returns the text over the progress bar, as Markdown; "" for no bar."""

_EVERY_SECONDS = 1.0


def show_job(
    job: Job[Found],
    words: Words,
    draw: Callable[[Progress[Found]], None] | None = None,
    *,
    key: str,
    starts: bool = True,
    button: str = "Start again",
    may_stop: bool = True,
    only_running: bool = False,
) -> Progress[Found] | None:
    """Draw the progress of a job, the buttons that stop and start it, and what it has found so far.

    While it runs, this part of the page is drawn every second; when it ends, the whole page is drawn once.

    Args:
        job: The job.
        words: Text over the progress bar.
        draw: Draws what was found so far.
        key: Prefix of the buttons' keys.
        starts: Start it when it is first shown.
        button: Label of the button that starts it; "" for no button.
        may_stop: Draw the button that stops it.
        only_running: Call `draw` only while the job runs.

    Returns:
        What was found if the job did not run when it was drawn; else None.
    """
    if starts and not (job.finished or job.stopped or job.problem):
        job.start()
    was_running = job.running

    def show() -> None:
        if was_running:
            job.watch()
        if job.running != was_running:
            st.rerun()  # `run_every` is set where the whole page is drawn
        latest = job.latest
        if job.problem:
            st.error(markdown.plain(job.problem), icon=":material/block:")
        elif text := words(job):
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.progress(latest.done / latest.total if latest and latest.total else 0.0, text)
                if was_running and may_stop:
                    st.button("Stop", key=f"{key} stop", on_click=job.stop, icon=":material/stop:")
        if button and not was_running and not job.finished:
            st.button(button, key=f"{key} start", on_click=job.start, icon=":material/play_arrow:")
        if draw is not None and latest is not None and (was_running or not only_running):
            draw(latest)

    st.fragment(show, run_every=_EVERY_SECONDS if was_running else None)()
    return None if was_running else job.latest


def counted(doing: str, unit: str) -> Words:
    """Return the text for a job that counts: "Reading: 20 of 100 sentences"."""

    def words(job: Job[Any]) -> str:
        far = f"{job.latest.done:,} of {job.latest.total:,} {unit}" if job.latest else ""
        if job.queued:
            return f"{doing}: waiting for its turn on this server"
        if job.running:
            return f"{doing}: {far}" if far else f"{doing} …"
        if not job.stopped:
            return ""
        return f"Stopped after {far}. The results so far are kept." if far else "Stopped."

    return words
