"""`measure`: measure trained translators on what they never saw."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from attnviz.atomic_file import atomic_file
from attnviz.cli import app
from attnviz.trained.translator.variants import VARIANTS, WEIGHTS

FIGURES = WEIGHTS / "figures.json"


@app.command("measure")
def run(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Files of weights; else those that attnviz ships."),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the figures down in figures.json.")] = False,
) -> None:
    """Measure trained translators on what they never saw."""
    from attnviz.trained.translator.measures import measure, missed, table
    from attnviz.trained.translator.translator import Translator

    files = files or [variant.file for variant in VARIANTS.values()]
    translators = {file: Translator.load(file) for file in files}
    found = {file: measure(translator) for file, translator in translators.items()}
    sys.stdout.write(table({file.stem: figures for file, figures in found.items()}))
    for file, figures in found.items():
        for name, value in missed(translators[file].about["variant"], figures).items():
            sys.stdout.write(f"{file.stem} misses a target: {name} is {value:.4g}\n")
    if write:
        shipped = {file: file.resolve().parent == WEIGHTS for file in files}
        write_figures(
            [
                {**translators[file].about, "shipped": shipped[file], **asdict(figures)}
                for file, figures in found.items()
            ]
        )


def write_figures(runs: Sequence[Mapping[str, object]]) -> None:
    """Write down what was measured; other trainings' figures stay."""
    known = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else []
    by_training = {(run["variant"], int(run["seed"])): run for run in (*known, *runs)}
    variants = list(VARIANTS)
    order = sorted(by_training, key=lambda training: (variants.index(training[0]), training[1]))
    figures = json.dumps([by_training[training] for training in order], indent=1) + "\n"
    with atomic_file(FIGURES) as opened:
        opened.write(figures.encode())
