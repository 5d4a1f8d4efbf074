"""The live part of the page on learning: a visitor trains a translator, and sees its weights form."""

from __future__ import annotations

import streamlit as st

from attnviz.app.learn.live_training import train_live
from attnviz.app.learn.training import Learned, Training
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
from attnviz.app.state.choices import LIVE_SEED, LIVE_STEPS, LIVE_VARIANT
from attnviz.experiments.progress import Progress
from attnviz.trained.translator.learning import PROBES
from attnviz.trained.translator.variants import VARIANTS

STEPS = (100, 300, 600, 1000, 2000, 3000)
ENOUGH = 2000


def train(number: int, head: Head) -> None:
    """Draw a translator's training, watched on one of the probes (a number from 0), and in one head."""
    train_live(
        "A shorter training, on fewer sentences: a translator starts from random numbers and learns while "
        "you watch.",
        _choose,
        {name: variant.title for name, variant in VARIANTS.items()},
        lambda latest: _draw(latest, number, head),
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


def _draw(latest: Progress[Learned], number: int, head: Head) -> None:
    """Draw what was learned so far."""
    snapshots = latest.found.snapshots
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
