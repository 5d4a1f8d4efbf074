"""A training in the page: a visitor starts it, others watch, and one at a time runs on a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from attnviz.app.job_view import show_job
from attnviz.app.lessons import training
from attnviz.app.lessons.training import Learned, Training
from attnviz.app.server.jobs import JOBS, Job, State
from attnviz.app.state import memory
from attnviz.experiments.progress import Progress

_KEY = "live training"
_MINE = "the training that this visitor started"


def train_live(
    choose: Callable[[], Training],
    titles: Mapping[str, str],
    draw: Callable[[Progress[Learned]], None],
) -> None:
    """Draw the settings, the button and, while one runs and after it, the training.

    Args:
        choose: draws the settings.
        titles: of what can be trained, by the names of the variants.
        draw: draws what was learned so far, as soon as there is a snapshot.
    """
    st.markdown(
        "The model starts from random numbers and learns while you watch. The training runs on this server, "
        "and stops some seconds after you close this or leave the page. The **seed** chooses the random "
        "numbers: another seed, another training."
    )
    settings = choose()
    mine: Job[Learned] | None = memory.get(_MINE, None)
    running = JOBS.running(_KEY)
    if running is None:
        label = "Train another one" if mine else "Start training"
        st.button(label, icon=":material/play_arrow:", on_click=_start, args=(settings,))
    elif running is not mine:
        st.info(
            "Another visitor is training. This server trains one model at a time, so here you watch theirs; "
            "yours can start when it is done.",
            icon=":material/groups:",
        )
    if job := running or mine:
        show_job(
            job,
            partial(_words, job, titles),
            lambda latest: draw(latest) if latest.found.snapshots else None,
            key="live training",
            mine=job is mine,
        )


def _start(settings: Training) -> None:
    job = Job(partial(training.train, settings), resumes=False)
    # Or another visitor was quicker: the page then says so.
    if JOBS.begin(_KEY, job, memory.visitor()) is job:
        memory.put(_MINE, job)


def _words(
    job: Job[Learned], titles: Mapping[str, str], state: State, latest: Progress[Learned] | None
) -> str:
    """How far a training is, and what became of it, as Markdown."""
    if latest is None:
        return "Starting"
    settings, seconds = latest.found.training, job.seconds
    what = {"finished": "Done", "paused": "Stopped"}.get(state, "Learning" if latest.done else "Starting")
    far = f"{latest.done:,} of {latest.total:,} steps in {seconds:.0f} s"
    if job.running and latest.done:
        far += f", about {seconds / latest.done * (latest.total - latest.done):.0f} s to go"
    return f"{what} · {titles[settings.variant]}, seed {settings.seed} · {far}"
