"""The live part of the page on learning: a visitor trains the model, and sees its weights form."""

from __future__ import annotations

import streamlit as st

from attnviz.app.learn.live_training import train_live
from attnviz.app.learn.training import Learned, Training
from attnviz.app.learn.watch_it_learn.in_training import (
    LINES,
    MATRIX,
    first_head,
    heads_of,
    progress,
    translation,
    weights,
)
from attnviz.app.learn.watch_it_learn.sections import LEARNERS, ShownTraining
from attnviz.app.state.choices import LIVE_SEED, LIVE_STEPS
from attnviz.experiments.progress import Progress
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.translator.probes import PROBES

STEPS = (100, 300, 600, 1000, 1400, 2000)
ENOUGH = 2000


def train(chosen: ShownTraining) -> None:
    """Draw a training of the chosen model from other random numbers, watched on the same text and head."""
    train_live(
        lambda: _choose(chosen.variant),
        {variant: title for title, variant in LEARNERS.items()},
        lambda latest: _draw(latest, chosen),
    )


def _choose(variant: str) -> Training:
    seed, steps = st.columns([2, 4], gap="medium", vertical_alignment="bottom")
    with seed:
        number = LIVE_SEED.draw("Seed")
    with steps:
        count = LIVE_STEPS.slide("Steps", STEPS, ENOUGH)
    return Training(variant, number, count)


def _draw(latest: Progress[Learned], chosen: ShownTraining) -> None:
    """Draw what was learned so far."""
    variant, snapshots = latest.found.training.variant, latest.found.snapshots
    last = snapshots[-1]
    number = chosen.number if variant not in SIZES else 0
    # A language model finds its own heads.
    keeps = variant == chosen.variant and variant not in SIZES and chosen.head in heads_of(last)
    head = chosen.head if keeps else first_head(last)
    left, right = st.columns([7, 5], gap="large")
    with left, st.container(border=True):
        if variant not in SIZES:
            translation(PROBES[number], last.glances[number])
        st.subheader(f"{head.name} after {last.step:,} steps", anchor=False)
        weights("live", variant, head, number, last, MATRIX if variant in SIZES else LINES)
    with right:
        title = "What this training learned when"
        progress("live", title, variant, snapshots, last.step, latest.total)
