"""The progress, buttons and results of a job on a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from attnviz.app import markdown
from attnviz.app.server.jobs import Job
from attnviz.experiments.progress import Progress

Found = TypeVar("Found")

StatusText = Callable[[Job[Any]], str]
"""Function that returns the text above the progress bar, as Markdown; "" for no bar."""

_INTERVAL_SECONDS = 1.0


def show_job(
    job: Job[Found],
    status: StatusText,
    draw: Callable[[Progress[Found]], None] | None = None,
    *,
    key: str,
    starts: bool = True,
    button: str = "Start again",
    may_stop: bool = True,
    only_running: bool = False,
) -> Progress[Found] | None:
    """Draw the progress of a job, the buttons that stop and start it, and its results so far.

    While the job runs, this part of the page is redrawn every second; at the end, the whole page is redrawn.

    Args:
        job: The job.
        status: Text above the progress bar.
        draw: Function that draws the results so far.
        key: Prefix of the buttons' keys.
        starts: Start the job when it is first shown.
        button: Label of the button that starts the job; "" for no button.
        may_stop: Draw the button that stops the job.
        only_running: Call `draw` only while the job runs.

    Returns:
        The latest progress if the job was not running when it was drawn; else None.
    """
    if starts and not (job.finished or job.stopped or job.problem):
        job.start()
    was_running = job.running

    def show() -> None:
        if was_running:
            job.watch()
        if job.running != was_running:
            st.rerun()  # only a run of the complete page sets `run_every`
        latest = job.latest
        if job.problem:
            st.error(markdown.plain(job.problem), icon=":material/block:")
        elif text := status(job):
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.progress(latest.done / latest.total if latest and latest.total else 0.0, text)
                if was_running and may_stop:
                    st.button("Stop", key=f"{key} stop", on_click=job.stop, icon=":material/stop:")
        if button and not was_running and not job.finished:
            st.button(button, key=f"{key} start", on_click=job.start, icon=":material/play_arrow:")
        if draw is not None and latest is not None and (was_running or not only_running):
            draw(latest)

    st.fragment(show, run_every=_INTERVAL_SECONDS if was_running else None)()
    return None if was_running else job.latest


def progress_text(action: str, unit: str) -> StatusText:
    """Return a function for the status text of a job: "Reading: 20 of 100 sentences"."""

    def status(job: Job[Any]) -> str:
        done = f"{job.latest.done:,} of {job.latest.total:,} {unit}" if job.latest else ""
        if job.queued:
            return f"{action}: queued on this server"
        if job.running:
            return f"{action}: {done}" if done else f"{action} …"
        if not job.stopped:
            return ""
        return f"Stopped after {done}. The results so far are kept." if done else "Stopped."

    return status
