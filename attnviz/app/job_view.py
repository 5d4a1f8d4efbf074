"""A job on a page: its progress, Stop, Go on and Try again, and what it has found so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st

from attnviz.app import markdown
from attnviz.app.jobs import RUNNING, Job, State
from attnviz.app.state import memory
from attnviz.experiments.progress import Progress

Found = TypeVar("Found")

Words = Callable[[State, Progress[Any] | None], str]
"""(state, latest) → what stands over the bar, as Markdown; "": there is no bar."""

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
    """Draw how far a job is, the buttons that start and stop it, and what it has found so far.

    While it runs, this part of the page is drawn anew every second and the rest is not. When it has ended,
    the whole page is drawn once more. One that was refused says why, and begins anew only when asked to.

    Args:
        job: the job. If it cannot go on where it stopped, the page itself has the button that begins it anew.
        words: what the bar says.
        draw: draws what was found so far.
        key: of the buttons.
        start: what the button that begins it says; "": it begins by itself.
        mine: whether this visitor wants it, and can stop it for themselves; otherwise it is only looked at.
        only_running: whether `draw` draws only while the job runs; what stands still the page draws itself.

    Returns:
        What was found, if the job stood still as it was drawn; None if it ran, or has found nothing. It may
        have ended since: the page learns of that with its next run.
    """
    visitor = memory.visitor()
    state = job.state_for(visitor)
    begins = job.resumes and (state == "left alone" or (state == "not begun" and not start))
    if mine and (begins or state in RUNNING):
        job.start(visitor)
    was_running = job.state_for(visitor) in RUNNING

    def button(name: str, press: Callable[..., None], icon: str, label: str = "") -> None:
        look = f"{key} {name.lower()}", f":material/{icon}:"
        st.button(label or name, key=look[0], on_click=press, args=(visitor,), icon=look[1])

    def show() -> None:
        if mine and was_running:
            job.watched()
        state, latest = job.state_for(visitor), job.latest
        if (state in RUNNING) != was_running:
            st.rerun()  # whether this part is drawn every second is settled where the whole page is drawn
        if state == "refused":
            st.error(markdown.plain(job.problem), icon=":material/block:")
            if job.resumes:
                button("Try again", job.start, "refresh")
        elif state == "not begun":
            button("start", job.start, "play_arrow", start)
        elif said := words(state, latest):
            with st.container(horizontal=True, vertical_alignment="bottom"):
                st.progress(latest.done / latest.total if latest and latest.total else 0.0, said)
                if was_running and mine:
                    button("Stop", job.stop, "stop")
                elif job.resumes and not was_running:
                    button("Go on", job.start, "play_arrow")
        if draw is not None and latest is not None and (was_running or not only_running):
            draw(latest)

    st.fragment(show, run_every=_EVERY_SECONDS if was_running else None)()
    return None if was_running else job.latest


def counted(doing: str, unit: str) -> Words:
    """What the bar of a job says that counts something: "Reading" (as Markdown) so many "sentences"."""

    def words(state: State, latest: Progress[Any] | None) -> str:
        if state == "finished":
            return ""
        if state == "queued":
            return f"{doing}: waiting for its turn on this server"
        far = f"{latest.done:,} of {latest.total:,} {unit}" if latest else ""
        if state in RUNNING:
            return f"{doing}: {far}" if far else f"{doing} …"
        return f"Stopped after {far}. What was found stays." if far else "Stopped."

    return words
