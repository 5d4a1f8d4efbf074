"""A training that tells, line by line, how far it is: what the live training on the page listens to.

`python -m attnviz live --variant taught --seed 1 --steps 1200` prints one JSON object a line: the step, or
from time to time a whole snapshot.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from attnviz.trained.translator.learning import PROBES, Measures, ProbeAnswer, Snapshot

SENTENCES = 60
"""Held-out sentences for each of the measures: few enough that looking takes less time than learning."""

_PAUSE_SECONDS = 0.25  # between two lines that only tell the step


def tell(variant: str, seed: int, steps: int) -> None:
    """Train a variant, and print a line for each thing worth telling."""
    from attnviz.trained.translator.recording import Examination, watch
    from attnviz.trained.translator.training import Settings

    settings = replace(Settings.live(variant, seed), steps=steps)
    told = 0.0
    for news in watch(settings, Examination.of(SENTENCES, PROBES), snapshots(steps)):
        if isinstance(news, Snapshot):
            _say(snapshot_line(news))
        elif time.monotonic() - told > _PAUSE_SECONDS:
            told = time.monotonic()
            _say(step_line(news))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def snapshots(steps: int) -> tuple[int, ...]:
    """After which of so many steps a snapshot is taken: often at first, when most is learned."""
    early = (0, 25, 50, 75, 100, 150, 200)
    return tuple(sorted({step for step in (*early, *range(200, steps, 100)) if step < steps} | {steps}))


def step_line(step: int) -> str:
    """A line that tells the step."""
    return json.dumps({"step": step})


def snapshot_line(snapshot: Snapshot) -> str:
    """A line that tells a snapshot."""
    glances = [
        {
            "weights": {kind: weights.tolist() for kind, weights in glance.weights.items()},
            "said": glance.said,
            "il": glance.il,
            "elle": glance.elle,
        }
        for glance in snapshot.glances
    ]
    measures = snapshot.measures._asdict()
    return json.dumps({"step": snapshot.step, "measures": measures, "glances": glances})


def understood(line: str) -> int | Snapshot | None:
    """What a line tells: the step, or a snapshot; None: it is none of ours (a warning, an error)."""
    try:
        told = json.loads(line)
        if not isinstance(told, dict):
            return None
        step = int(told["step"])
        if "measures" not in told:
            return step
        return Snapshot(step, Measures(**told["measures"]), tuple(map(_glance, told["glances"])))
    except (ValueError, LookupError, TypeError):
        return None


def _glance(told: dict[str, Any]) -> ProbeAnswer:
    weights = {kind: np.array(values, np.uint16) for kind, values in told["weights"].items()}
    for values in weights.values():
        values.setflags(write=False)
    return ProbeAnswer(weights, tuple(told["said"]), int(told["il"]), int(told["elle"]))
