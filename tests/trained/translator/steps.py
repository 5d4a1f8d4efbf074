"""Snapshots of a training that never was: every number its own, so that none can be taken for another."""

import numpy as np

from attnviz.trace import Kind
from attnviz.trained.translator.learning import (
    PROBES,
    Learning,
    Measures,
    Probe,
    ProbeAnswer,
    Snapshot,
    Thousandths,
)

LAYERS: dict[Kind, int] = {"encoder": 2, "decoder": 1, "cross": 1}
HEADS = 4


def glance(probe: Probe, random: np.random.Generator) -> ProbeAnswer:
    source, target = len(probe.source) + 1, len(probe.target) + 1
    sizes: dict[Kind, tuple[int, int]] = {
        "encoder": (source, source),
        "decoder": (target, target),
        "cross": (target, source),
    }
    weights: dict[Kind, Thousandths] = {
        kind: np.round(1000 * random.dirichlet(np.ones(keys), (LAYERS[kind], HEADS, queries))).astype(
            np.uint16
        )
        for kind, (queries, keys) in sizes.items()
    }
    il, elle = random.integers(0, 500, 2).tolist()
    return ProbeAnswer(weights, (*probe.target[: random.integers(1, 9)], f"mot{il}"), il, elle)


def snapshot(step: int, probes: tuple[Probe, ...] = PROBES) -> Snapshot:
    random = np.random.default_rng(step)
    measures = Measures(*random.random(5, dtype=np.float32).tolist())
    return Snapshot(step, measures, tuple(glance(probe, random) for probe in probes))


def learning(*steps: int, probes: tuple[Probe, ...] = PROBES) -> Learning:
    about = {"variant": "taught", "seed": "3"}
    return Learning(about, probes, tuple(snapshot(step, probes) for step in steps))


def same(one: Snapshot, other: Snapshot) -> bool:
    """Whether two snapshots have every number and word in common."""
    told = [(s.step, s.measures, [(g.said, g.il, g.elle) for g in s.glances]) for s in (one, other)]
    weights = zip(one.glances, other.glances, strict=True)
    return told[0] == told[1] and all(
        a.weights.keys() == b.weights.keys()
        and all(np.array_equal(a.weights[kind], b.weights[kind]) for kind in a.weights)
        for a, b in weights
    )
