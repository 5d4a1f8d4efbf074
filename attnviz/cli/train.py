"""`train`: train a translator from where it was broken off, or from the start, and write its weights."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from attnviz.cli import app
from attnviz.cli.progress import progress
from attnviz.trained.translator.variants import VARIANTS


def _known(variant: str) -> str:
    if variant not in VARIANTS:
        raise typer.BadParameter(f"'{variant}' is none of {', '.join(VARIANTS)}.")
    return variant


Variant = Annotated[
    str,
    typer.Option(callback=_known, help=f"What the translator is told where to look: {', '.join(VARIANTS)}."),
]
Threads = Annotated[int, typer.Option(help="How many cores to use.")]


@app.command("train")
def run(
    variant: Variant = "taught",
    seed: Annotated[
        int | None,
        typer.Option(help="Of everything that is random; without it, that of the shipped weights."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write; else the one that attnviz ships.")
    ] = None,
    threads: Threads = 1,
) -> None:
    """Train a translator; Ctrl-C breaks off, and it goes on later."""
    import torch

    from attnviz.trained.translator.training import Settings, train

    torch.set_num_threads(threads)
    settings = Settings.of(variant, seed)
    out = out or VARIANTS[variant].file
    out.parent.mkdir(parents=True, exist_ok=True)
    checkpoint = out.with_suffix(".checkpoint")
    with (
        progress(log=True) as tell,
        asked_to_stop() as stop,
        contextlib.closing(train(settings, checkpoint)) as training,
    ):
        for now in training:
            said = f"{now.step} of {settings.steps} steps, loss {now.loss:.3f}, {now.seconds:.0f} s"
            tell(said, now.step / settings.steps)
            if stop.is_set():
                break
    if now.step < settings.steps:
        sys.stdout.write(f"Broken off. The same command goes on from {checkpoint}.\n")
        return
    now.translator().save(out)
    checkpoint.unlink(missing_ok=True)
    sys.stdout.write(f"Written: {out}\n")


@contextlib.contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Set by Ctrl-C, which then does not tear a step in two."""
    stop = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
