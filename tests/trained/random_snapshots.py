"""Artificial snapshots of a training run, with random values seeded by the step."""

import numpy as np

from attnviz.trace import Kind
from attnviz.trained.snapshots import Snapshot, TextSnapshot, thousandths
from attnviz.trained.translator.probes import PROBES, Probe

LAYERS: dict[Kind, int] = {"encoder": 2, "decoder": 1, "cross": 1}
HEADS = 4


def text_snapshot(probe: Probe, random: np.random.Generator) -> TextSnapshot:
    source, target = len(probe.source) + 1, len(probe.target) + 1
    sizes: dict[Kind, tuple[int, int]] = {
        "encoder": (source, source),
        "decoder": (target, target),
        "cross": (target, source),
    }
    weights = {
        kind: thousandths(random.dirichlet(np.ones(keys), (LAYERS[kind], HEADS, queries)))
        for kind, (queries, keys) in sizes.items()
    }
    il, elle = random.integers(0, 500, 2).tolist()
    return TextSnapshot(weights, (*probe.target[: random.integers(1, 9)], f"mot{il}"), il, elle)


def translator_snapshot(step: int, probes: tuple[Probe, ...] = PROBES) -> Snapshot:
    random = np.random.default_rng(step)
    measures = dict(
        zip(
            ("loss", "exact", "pronoun", "referent", "other"),
            random.random(5, dtype=np.float32).tolist(),
            strict=True,
        )
    )
    return Snapshot(step, measures, tuple(text_snapshot(probe, random) for probe in probes))


def storyteller_snapshot(step: int) -> Snapshot:
    random = np.random.default_rng(step)
    measures = dict(zip(("right", "first_loss", "second_loss"), random.random(3).tolist(), strict=True))
    weights = thousandths(random.dirichlet(np.ones(25), (2, HEADS, 25)))
    previous_word, prefix_matching = random.random((2, 2, HEADS), dtype=np.float32)
    scores = {"previous_word": previous_word, "prefix_matching": prefix_matching}
    return Snapshot(step, measures, (TextSnapshot({"decoder": weights}),), scores)
