"""`learning`: train a shipped translator again, and store what it had learned after some steps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from attnviz.cli import app
from attnviz.cli.train import Threads, Variant
from attnviz.trained.translator import learning


@app.command("learning")
def run(
    variant: Variant = "taught",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write; else the one that attnviz ships.")
    ] = None,
    threads: Threads = 1,
) -> None:
    """Train a shipped translator again, and store its steps."""
    import torch

    from attnviz.trained.translator.recording import Examination, about, watch
    from attnviz.trained.translator.training import Settings

    torch.set_num_threads(threads)
    settings = Settings.of(variant)
    examination = Examination.of(learning.SENTENCES, learning.PROBES)
    snapshots = []
    for news in watch(settings, examination, learning.stored_steps(settings.steps)):
        if isinstance(news, learning.Snapshot):
            snapshots.append(news)
            sys.stdout.write(f"{news.step} of {settings.steps} steps: {news.measures}\n")
            sys.stdout.flush()
    found = learning.Learning(about(settings, examination), learning.PROBES, tuple(snapshots))
    learning.write(found, out or learning.file_of(variant))
