"""The live part of the page on learning: a visitor trains a translator, and sees its weights form."""

from __future__ import annotations

import streamlit as st

from attnviz.app import live_training, markdown
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
from attnviz.app.live_training import SERVER, Training, Wish
from attnviz.app.state import memory
from attnviz.app.state.choices import LIVE_SEED, LIVE_STEPS, LIVE_VARIANT
from attnviz.trained.translator.learning import PROBES
from attnviz.trained.translator.variants import VARIANTS

STEPS = (100, 300, 600, 1000, 2000, 3000)
ENOUGH = 2000
_EVERY_SECONDS = 1.0
_MINE = "the training that this visitor started"


def train(number: int, head: Head) -> None:
    """Draw the settings, the button and, while one runs and after it, the training.

    Args:
        number: of the sentence among the probes, from 0.
        head: the head on show.
    """
    st.header("Train one yourself", anchor=False)
    if live_training.switched_off():
        st.info(
            "Live training is switched off on this server. Start attnviz on your own machine to train there.",
            icon=":material/power_off:",
        )
        return
    st.markdown(
        "The same training, only shorter: a translator starts from random numbers and learns while you "
        "watch. It runs on this server, and stops some seconds after you leave this page. The **seed** "
        "chooses the random numbers: another seed, another training; the same seed, the same once more."
    )
    wish = _wish()
    mine, running = _mine(), SERVER.running
    if mine:
        mine.watched()
    if running is None:
        label = "Train another one" if mine else "Start training"
        st.button(label, icon=":material/play_arrow:", on_click=_start, args=(wish,))
    elif running is mine:
        st.button("Stop training", icon=":material/stop:", on_click=running.stop)
    else:
        st.info(
            "Another visitor is training. This server trains one translator at a time, so here you watch "
            "theirs; yours can start when it is done.",
            icon=":material/groups:",
        )
    shown = running or mine
    if shown:
        every = _EVERY_SECONDS if running else None
        st.fragment(_show, run_every=every)(shown, number, head, polling=running is not None)


def _wish() -> Wish:
    told, seed, steps = st.columns([3, 2, 4], gap="medium", vertical_alignment="bottom")
    with told:
        names = {variant.title: name for name, variant in VARIANTS.items()}
        title = LIVE_VARIANT.select("What it is told", list(names))
    with seed:
        number = LIVE_SEED.draw("Seed")
    with steps:
        count = LIVE_STEPS.slide("Steps", STEPS, ENOUGH)
    return Wish(names[title], number, count)


def _mine() -> Training | None:
    """The latest training that this visitor started."""
    mine: Training | None = memory.get(_MINE)
    return mine


def _start(wish: Wish) -> None:
    # Where another visitor was quicker, the page then says so.
    memory.put(_MINE, SERVER.start(wish) or _mine())


def _show(training: Training, number: int, head: Head, *, polling: bool) -> None:
    """Draw how far a training is; while one runs, this is drawn again every second."""
    if training is _mine():
        training.watched()
    if polling and training.state != "running":
        st.rerun()
    done = training.step / training.wish.steps
    st.progress(done, _state_in_words(training))
    if not training.snapshots:
        return
    latest = training.snapshots[-1]
    probe, glance = PROBES[number], latest.glances[number]
    head = head if head in heads_of(glance) else TAUGHT
    left, right = st.columns([7, 5], gap="large")
    with left, st.container(border=True):
        says(probe, glance)
        st.subheader(f"{head.name} after {latest.step:,} steps", anchor=False)
        weights("live", head, probe, glance, latest.step, LINES)
        st.markdown(looks(head, probe, glance, latest.step))
    with right:
        progress(
            "live", "What this training learned when", training.snapshots, latest.step, training.wish.steps
        )
        st.markdown(measured(latest))


def _state_in_words(training: Training) -> str:
    """How far it is, and what became of it, as Markdown."""
    wish, step, state = training.wish, training.step, training.state
    told = {
        "running": "Learning" if step else "Starting",
        "finished": "Done",
        "stopped": "Stopped",
        "left alone": "Stopped, because nobody was watching",
        "failed": f"It ended with an error: {markdown.code(training.problem)}",
    }[state]
    far = f"{step:,} of {wish.steps:,} steps in {training.seconds:.0f} s"
    if state == "running" and step:
        far += f", about {training.seconds / step * (wish.steps - step):.0f} s to go"
    return f"{told} · {VARIANTS[wish.variant].title}, seed {wish.seed} · {far}"
