"""A long computation on a page: its progress, Stop, Go on and Try again, and what it has found so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from attnviz.app import markdown
from attnviz.app.work import RUNNING, State, Work
from attnviz.experiments.progress import Progress

Found = TypeVar("Found")

_EVERY_SECONDS = 1.0


def working(
    work: Work[Found],
    doing: str,
    unit: str,
    draw: Callable[[Progress[Found]], None],
    *,
    start: str = "",
    key: str,
) -> None:
    """Draw how far a work is, the buttons that start and stop it, and what it has found so far.

    While it runs, this part of the page is drawn anew every second and the rest is not. When it has ended,
    the whole page is drawn once more. One that was refused says why, and begins anew only when asked to.

    Args:
        work: as `ui.work.SERVER.find` returns it.
        doing: what it does, as Markdown ("Reading the sentences").
        unit: what it counts ("sentences").
        draw: draws what was found so far.
        start: what the button that begins it says; "": it begins by itself.
        key: of the buttons.
    """
    if work.state == "left alone" or (work.state == "not begun" and not start):
        work.start()
    running = work.state in RUNNING
    st.fragment(_draw, run_every=_EVERY_SECONDS if running else None)(
        work, doing, unit, draw, start, key, running
    )


def _draw(
    work: Work[Found],
    doing: str,
    unit: str,
    draw: Callable[[Progress[Found]], None],
    start: str,
    key: str,
    was_running: bool,
) -> None:
    work.watched()
    state, latest = work.state, work.latest
    if (state in RUNNING) != was_running:
        st.rerun()  # whether this part is drawn every second is settled where the whole page is drawn
    if state == "refused":
        st.error(markdown.plain(work.problem), icon=":material/block:")
        st.button("Try again", key=f"{key} try again", on_click=work.start, icon=":material/refresh:")
    elif state == "not begun":
        st.button(start, key=f"{key} start", on_click=work.start, icon=":material/play_arrow:")
    elif state != "finished":
        _progress(work, state, latest, doing, unit, key)
    if latest is not None:
        draw(latest)


def _progress(
    work: Work[Found], state: State, latest: Progress[Found] | None, doing: str, unit: str, key: str
) -> None:
    """Draw the bar, what it means, and the button that stops the work or lets it go on."""
    done, total = (latest.done, latest.total) if latest else (0, 0)
    told = f"{doing}: {done:,} of {total:,} {unit}" if latest else f"{doing} …"
    if state == "waiting":
        told = f"{doing}: waiting for its turn on this server"
    elif state == "stopped":
        told = f"Stopped after {done:,} of {total:,} {unit}. What was found stays." if done else "Stopped."
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.progress(done / total if total else 0.0, text=told)
        if state in RUNNING:
            st.button("Stop", key=f"{key} stop", on_click=work.stop, icon=":material/stop:")
        else:
            st.button("Go on", key=f"{key} go on", on_click=work.start, icon=":material/play_arrow:")
