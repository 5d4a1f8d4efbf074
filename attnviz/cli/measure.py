"""`measure`: measure trained translators on what they never saw."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from attnviz.trained.translator.variants import VARIANTS, WEIGHTS

FIGURES = WEIGHTS / "figures.json"


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `measure` to the command line."""
    command = commands.add_parser("measure", help="measure trained translators on what they never saw")
    command.add_argument("files", nargs="*", type=Path, help="files of weights (those that attnviz ships)")
    command.add_argument("--write", action="store_true", help="write the figures down in figures.json")
    command.set_defaults(run=run_measure)


def run_measure(arguments: argparse.Namespace) -> None:
    """Measure translators, print a table of what was found, and write it down if asked to."""
    from attnviz.trained.translator.measures import measure, missed, table
    from attnviz.trained.translator.translator import Translator

    files = arguments.files or [variant.file for variant in VARIANTS.values()]
    translators = {file: Translator.load(file) for file in files}
    found = {file: measure(translator) for file, translator in translators.items()}
    sys.stdout.write(table({file.stem: figures for file, figures in found.items()}))
    for file, figures in found.items():
        for name, value in missed(translators[file].about["variant"], figures).items():
            sys.stdout.write(f"{file.stem} misses a target: {name} is {value:.4g}\n")
    if arguments.write:
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
    FIGURES.write_text(json.dumps([by_training[training] for training in order], indent=1) + "\n", "utf-8")
