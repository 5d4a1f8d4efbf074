"""The live part of the page on learning: a visitor trains a translator, and sees its weights form."""

from __future__ import annotations

from functools import partial

import streamlit as st

from attnviz.app.job_view import show_job
from attnviz.app.jobs import JOBS, Job, Lane, State
from attnviz.app.learn.watch_it_learn import compute
from attnviz.app.learn.watch_it_learn.compute import Learned, Training
from attnviz.app.learn.watch_it_learn.in_training import (
    LINES,
    TAUGHT,
    Head,
    heads_of,
    looks,
    measured,
    progress,
    says,
    weights,
)
from attnviz.app.state import memory
from attnviz.app.state.choices import LIVE_SEED, LIVE_STEPS, LIVE_VARIANT
from attnviz.experiments.progress import Progress
from attnviz.trained.translator.learning import PROBES
from attnviz.trained.translator.variants import VARIANTS

STEPS = (100, 300, 600, 1000, 2000, 3000)
ENOUGH = 2000
_TRAINING = Lane(1)
_KEY = "live training"
_MINE = "the training that this visitor started"


def train(number: int, head: Head) -> None:
    """Draw the settings, the button and, while one runs and after it, the training.

    It is watched on one of the probes (a number from 0), and in one head.
    """
    st.header("Train one yourself", anchor=False)
    if compute.switched_off():
        st.info(
            "Live training is switched off on this server. Start attnviz on your own machine to train there.",
            icon=":material/power_off:",
        )
        return
    st.markdown(
        "A shorter training, on fewer sentences: a translator starts from random numbers and learns while "
        "you watch. It runs on this server, and stops some seconds after you leave this page. The **seed** "
        "chooses the random numbers: another seed, another training; the same seed, the same once more."
    )
    training = _choose()
    mine, running = _mine(), JOBS.running(_KEY)
    if running is None:
        label = "Train another one" if mine else "Start training"
        st.button(label, icon=":material/play_arrow:", on_click=_start, args=(training,))
    elif running is not mine:
        st.info(
            "Another visitor is training. This server trains one translator at a time, so here you watch "
            "theirs; yours can start when it is done.",
            icon=":material/groups:",
        )
    job = running or mine
    if job:
        show_job(
            job,
            partial(_words, job),
            lambda latest: _draw(latest, number, head),
            key="live training",
            mine=job is mine,
        )


def _choose() -> Training:
    told, seed, steps = st.columns([3, 2, 4], gap="medium", vertical_alignment="bottom")
    with told:
        names = {variant.title: name for name, variant in VARIANTS.items()}
        title = LIVE_VARIANT.select("What it is told", list(names))
    with seed:
        number = LIVE_SEED.draw("Seed")
    with steps:
        count = LIVE_STEPS.slide("Steps", STEPS, ENOUGH)
    return Training(names[title], number, count)


def _mine() -> Job[Learned] | None:
    """The latest training that this visitor started."""
    mine: Job[Learned] | None = memory.get(_MINE)
    return mine


def _start(training: Training) -> None:
    job = Job(partial(compute.train, training), lane=_TRAINING, resumes=False)
    if (
        JOBS.begin(_KEY, job, memory.visitor()) is job
    ):  # or another visitor was quicker: the page then says so
        memory.put(_MINE, job)


def _draw(latest: Progress[Learned], number: int, head: Head) -> None:
    """Draw what was learned so far."""
    snapshots = latest.found.snapshots
    if not snapshots:
        return
    step, probe, glance = snapshots[-1].step, PROBES[number], snapshots[-1].glances[number]
    head = head if head in heads_of(glance) else TAUGHT
    left, right = st.columns([7, 5], gap="large")
    with left, st.container(border=True):
        says(probe, glance)
        st.subheader(f"{head.name} after {step:,} steps", anchor=False)
        weights("live", head, probe, glance, step, LINES)
        st.markdown(looks(head, probe, glance, step))
    with right:
        progress("live", "What this training learned when", snapshots, step, latest.total)
        st.markdown(measured(snapshots[-1]))


def _words(job: Job[Learned], state: State, latest: Progress[Learned] | None) -> str:
    """How far a training is, and what became of it, as Markdown."""
    if latest is None:
        return "Starting"
    training, seconds = latest.found.training, job.seconds
    told = {
        "finished": "Done",
        "stopped": "Stopped",
        "left alone": "Stopped, because nobody was watching",
    }.get(state, "Learning" if latest.done else "Starting")
    far = f"{latest.done:,} of {latest.total:,} steps in {seconds:.0f} s"
    if job.running and latest.done:
        far += f", about {seconds / latest.done * (latest.total - latest.done):.0f} s to go"
    return f"{told} · {VARIANTS[training.variant].title}, seed {training.seed} · {far}"
