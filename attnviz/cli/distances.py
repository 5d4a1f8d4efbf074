"""`distances`: train a network without attention and a transformer, and measure both by distance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attnviz.cli import app
from attnviz.cli.progress import progress
from attnviz.cli.train import Threads
from attnviz.trained.translator import distance


@app.command("distances")
def run(
    only_measure: Annotated[
        bool, typer.Option("--only-measure", help="Measure the weights that are there.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder to write; else the one of attnviz.")
    ] = None,
    threads: Threads = 2,
) -> None:
    """Compare a network without attention with a transformer.

    Both are trained, and measured on longer and longer sentences.
    """
    import torch

    from attnviz.trained.translator import contest

    torch.set_num_threads(threads)
    folder = out or distance.WEIGHTS
    for name in () if only_measure else distance.NAMES:
        steps = contest.SETTINGS[name].steps
        with progress(log=True) as tell:
            for step, loss in contest.train(name, distance.weights_of(name, folder)):
                tell(f"{name}: step {step} of {steps}, loss {loss:.3f}", step / steps)
    distance.write(contest.measure(folder), folder)
