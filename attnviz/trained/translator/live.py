"""A translator's training that tells how far it is, for the live training on the page.

`python -m attnviz live --variant taught --seed 1 --steps 1200` prints it, as `trained.live` says.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from attnviz.trained import live
from attnviz.trained.translator.learning import PROBES, Measures, ProbeAnswer, Snapshot

SENTENCES = 60
"""Held-out sentences for each of the measures: few enough that looking takes less time than learning."""


def tell(variant: str, seed: int, steps: int) -> None:
    """Train a variant, and print a line for each thing worth telling."""
    from attnviz.trained.translator.recording import Examination, watch
    from attnviz.trained.translator.training import Settings

    settings = replace(Settings.live(variant, seed), steps=steps)
    live.tell(watch(settings, Examination.of(SENTENCES, PROBES), snapshots(steps)), snapshot_line)


def snapshots(steps: int) -> tuple[int, ...]:
    """After which of so many steps a snapshot is taken: often at first, when most is learned."""
    early = (0, 25, 50, 75, 100, 150, 200)
    return tuple(sorted({step for step in (*early, *range(200, steps, 100)) if step < steps} | {steps}))


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
    return live.understood(line, "measures", _snapshot)


def _snapshot(told: dict[str, Any]) -> Snapshot:
    return Snapshot(int(told["step"]), Measures(**told["measures"]), tuple(map(_glance, told["glances"])))


def _glance(told: dict[str, Any]) -> ProbeAnswer:
    weights = {kind: np.array(values, np.uint16) for kind, values in told["weights"].items()}
    for values in weights.values():
        values.setflags(write=False)
    return ProbeAnswer(weights, tuple(told["said"]), int(told["il"]), int(told["elle"]))
