"""`train`: train a translator from where it was broken off, or from the start, and write its weights."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from attnviz.cli.telling import show_bar
from attnviz.trained.translator.variants import VARIANTS


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    """Train, show how far it is, and write the weights."""
    import torch

    from attnviz.trained.translator.training import Settings, train

    torch.set_num_threads(arguments.threads)
    settings = Settings.of(arguments.variant, arguments.seed)
    out: Path = arguments.out or VARIANTS[arguments.variant].file
    out.parent.mkdir(parents=True, exist_ok=True)
    checkpoint = out.with_suffix(".checkpoint")
    with asked_to_stop() as stop, contextlib.closing(train(settings, checkpoint)) as training:
        for progress in training:
            told = f"{progress.step} of {settings.steps} steps, loss {progress.loss:.3f}"
            show_bar(progress.step / settings.steps, f"{told}, {progress.seconds:.0f} s", sys.stdout)
            if stop.is_set():
                break
    if progress.step < settings.steps:
        sys.stdout.write(f"\nBroken off. The same command goes on from {checkpoint}.\n")
        return
    progress.translator().save(out)
    checkpoint.unlink(missing_ok=True)
    sys.stdout.write(f"\nWritten: {out}\n")


@contextlib.contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Set by Ctrl-C, which then does not tear a step in two."""
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
