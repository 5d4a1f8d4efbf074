"""The command line: `python -m attnviz` makes again what attnviz ships and what took minutes to compute."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from attnviz.errors import AttnvizError
from attnviz.translation import corpus
from attnviz.translation.variants import VARIANTS, WEIGHTS

FIGURES = WEIGHTS / "figures.json"
BAR = 40  # characters of the progress bar

# Each adds its commands by `add_command(commands)`, and imports what is slow to import only to run them.
WITH_COMMANDS = ("attnviz.translation.live", "attnviz.translation.learning", "attnviz.translation.distance")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: what follows `python -m attnviz`; None: what was typed there.

    Returns:
        0; or 2 if what was asked for does not exist, or cannot be read.
    """
    parser = argparse.ArgumentParser("python -m attnviz", description=__doc__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_corpus(commands)
    add_train(commands)
    add_measure(commands)
    for name in WITH_COMMANDS:
        importlib.import_module(name).add_command(commands)
    parsed = parser.parse_args(arguments)
    try:
        parsed.run(parsed)
    except AttnvizError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def add_train(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `train` to the command line."""
    command = commands.add_parser("train", help="train a translator; Ctrl-C breaks off, and it goes on later")
    command.add_argument("--variant", choices=VARIANTS, default="taught", help="what it is told")
    command.add_argument(
        "--seed", type=int, help="of everything that is random (that of the shipped weights)"
    )
    command.add_argument("--out", type=Path, help="the file to write (the one that attnviz ships)")
    command.add_argument("--threads", type=int, default=1, help="how many cores to use (1)")
    command.set_defaults(run=run_train)


def run_train(arguments: argparse.Namespace) -> None:
    """Train a translator from where it was broken off, or from the start, and write its weights."""
    import torch

    from attnviz.translation.training import Settings, train

    torch.set_num_threads(arguments.threads)
    settings = Settings.of(arguments.variant, arguments.seed)
    out: Path = arguments.out or VARIANTS[arguments.variant].file
    out.parent.mkdir(parents=True, exist_ok=True)
    checkpoint = out.with_suffix(".checkpoint")
    with asked_to_stop() as stop, contextlib.closing(train(settings, checkpoint)) as training:
        for progress in training:
            show_bar(progress.step, settings.steps, f"loss {progress.loss:.3f}, {progress.seconds:.0f} s")
            if stop.is_set():
                break
    if progress.step < settings.steps:
        sys.stdout.write(f"\nBroken off. The same command goes on from {checkpoint}.\n")
        return
    progress.translator().save(out)
    checkpoint.unlink(missing_ok=True)
    sys.stdout.write(f"\nWritten: {out}\n")


def add_corpus(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `corpus` to the command line."""
    command = commands.add_parser("corpus", help="write the sentences to learn from, and those to test with")
    command.add_argument("--out", type=Path, required=True, help="the folder to write")
    command.add_argument("--sentences", type=int, default=60_000, help="how many to learn from (60000)")
    command.add_argument("--seed", type=int, default=0, help="chooses them (0)")
    command.set_defaults(run=run_corpus)


def run_corpus(arguments: argparse.Namespace) -> None:
    """Write the corpus."""
    for file in corpus.write(arguments.out, arguments.sentences, arguments.seed):
        sys.stdout.write(f"{file}\n")


def add_measure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `measure` to the command line."""
    command = commands.add_parser("measure", help="measure trained translators on what they never saw")
    command.add_argument("files", nargs="*", type=Path, help="files of weights (those that attnviz ships)")
    command.add_argument("--write", action="store_true", help="write the figures down in figures.json")
    command.set_defaults(run=run_measure)


def run_measure(arguments: argparse.Namespace) -> None:
    """Measure translators, print a table of what was found, and write it down if asked to."""
    from attnviz.translation.measures import measure, missed, table
    from attnviz.translation.translator import Translator

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


def show_bar(done: int, steps: int, beside: str) -> None:
    """Draw how far a training is, over what was drawn before."""
    filled = BAR * done // steps
    sys.stdout.write(f"\r{'█' * filled}{'·' * (BAR - filled)} {done} of {steps} steps, {beside} ")
    sys.stdout.flush()


@contextlib.contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Set by Ctrl-C, which then does not tear a step in two."""
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    sys.exit(main())
