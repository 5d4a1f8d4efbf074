"""Store the steps of training runs: `python -m training.steps [NAME …]`, four minutes each.

Trains a bundled model again and writes a file that `attnviz.trained.snapshots` reads.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.trained.snapshots import STORED, Snapshot, file_of
from attnviz.trained.storyteller import copying
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.training import STEPS
from attnviz.trained.translator import examination, translator
from attnviz.trained.translator.examination import Examination
from attnviz.trained.translator.training import Settings

SENTENCES = 300
"""Number of held-out sentences, and of minimal pairs' sentences, for the stored measures."""


def translator_steps(steps: int) -> tuple[int, ...]:
    """Return the steps at which a translator's snapshot is stored: more often at first."""
    early = (0, 25, *range(50, 800, 50), *range(800, 2000, 100), *range(2000, steps, 500))
    return (*(step for step in early if step < steps), steps)


def storyteller_steps(steps: int) -> tuple[int, ...]:
    """Return the steps at which a storyteller's snapshot is stored: more often while the heads form."""
    often = range(550, 900, 25)  # for the bundled storytellers
    return tuple(sorted({*range(0, steps, 100), *(step for step in often if step < steps), steps}))


def about(settings: Settings, sentences: Examination) -> dict[str, str]:
    """Return the metadata of a translator's training run and its snapshots."""
    parameters = translator.build(settings.sizes, settings.seed).parameters()
    return {
        "variant": settings.variant,
        "seed": str(settings.seed),
        "steps": str(settings.steps),
        "batch": str(settings.batch),
        "sentences": str(settings.sentences),
        "label smoothing": str(settings.label_smoothing),
        "parameters": str(sum(parameter.numel() for parameter in parameters)),
        "held out": str(len(sentences.held_out)),
        "minimal pairs": str(len(sentences.minimal_pairs)),
    }


def write_translator(
    how: Mapping[str, str], sentences: Examination, snapshots: Sequence[Snapshot], file: Path
) -> None:
    """Write a translator's training run; the output is deterministic."""
    arrays: dict[str, NDArray[Any]] = {"steps": _steps(snapshots)}
    arrays["measures"] = np.array([list(snapshot.measures.values()) for snapshot in snapshots], np.float32)
    for number in range(len(sentences.probes)):
        texts = [snapshot.texts[number] for snapshot in snapshots]
        arrays[f"{number}.pronoun"] = np.array(
            [(text_snapshot.il, text_snapshot.elle) for text_snapshot in texts], np.uint16
        )
        for kind in ("encoder", "decoder", "cross"):
            arrays[f"{number}.{kind}"] = np.stack([text_snapshot.weights[kind] for text_snapshot in texts])
    header = {
        "about": dict(how),
        "probes": [asdict(probe) for probe in sentences.probes],
        "outputs": [
            [text_snapshot.translation for text_snapshot in snapshot.texts] for snapshot in snapshots
        ],
    }
    arrays["header"] = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), np.uint8)
    np.savez_compressed(file, allow_pickle=False, **arrays)


def write_storyteller(how: Mapping[str, str], snapshots: Sequence[Snapshot], file: Path) -> None:
    """Write a storyteller's training run; the output is deterministic."""
    scores = {name: np.stack([each.scores[name] for each in snapshots]) for name in snapshots[0].scores}
    measures = {name: np.stack([each.measures[name] for each in snapshots]) for name in snapshots[0].measures}
    np.savez_compressed(
        file,
        allow_pickle=False,
        about=np.frombuffer(json.dumps(dict(how)).encode(), np.uint8),
        steps=_steps(snapshots),
        weights=np.stack([snapshot.texts[0].weights["decoder"] for snapshot in snapshots]),
        **scores,
        **measures,
    )


def _steps(snapshots: Iterable[Snapshot]) -> NDArray[Any]:
    return np.array([snapshot.step for snapshot in snapshots], np.int32)


def _watched(news: Iterable[int | Snapshot]) -> list[Snapshot]:
    snapshots = []
    for each in news:
        if isinstance(each, Snapshot):
            print(f"step {each.step}: {dict(each.measures)}", flush=True)
            snapshots.append(each)
    return snapshots


def main(names: Collection[str]) -> None:
    """Regenerate the stored steps of some training runs."""
    for name in names or STORED:
        if name in SIZES:
            news = copying.watch(name, 0, STEPS, storyteller_steps(STEPS))
            write_storyteller({"variant": name, "seed": "0"}, _watched(news), file_of(name))
        else:
            settings, sentences = Settings.of(name), Examination.of(SENTENCES)
            news = examination.watch(settings, sentences, translator_steps(settings.steps))
            write_translator(about(settings, sentences), sentences, _watched(news), file_of(name))


if __name__ == "__main__":
    main(sys.argv[1:])
