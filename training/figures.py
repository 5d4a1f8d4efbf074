"""Run training to the end, and store one record per run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnviz.atomic_file import atomic_file
from attnviz.trained.training import Network, Progress


def train_to_end(training: Iterator[Progress[Network]], name: str) -> Network:
    """Train a model to the end, print its progress, and return it with weights rounded to float16."""
    for progress in training:
        if progress.step % 100 == 0:
            print(f"{name}: step {progress.step}, loss {progress.loss:.3f}", flush=True)
    return progress.model.half().float()


def write(file: Path, run: Mapping[str, Any], variants: Sequence[str]) -> None:
    """Insert or replace the record of a training run; the file is sorted by variant and seed."""
    stored = json.loads(file.read_text("utf-8")) if file.exists() else []
    by_training = {(each["variant"], int(each["seed"])): each for each in (*stored, run)}
    order = sorted(by_training, key=lambda training: (variants.index(training[0]), training[1]))
    records = json.dumps([by_training[training] for training in order], indent=1) + "\n"
    with atomic_file(file) as opened:
        opened.write(records.encode())
