"""`corpus`: write the sentences that the translators learn from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from attnviz.cli import app
from attnviz.trained.translator import corpus


@app.command("corpus")
def run(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to write.")],
    sentences: Annotated[int, typer.Option(help="How many sentences to learn from.")] = 60_000,
    seed: Annotated[int, typer.Option(help="Chooses the sentences.")] = 0,
) -> None:
    """Write the sentences to learn from, and those to test with."""
    for file in corpus.write(out, sentences, seed):
        sys.stdout.write(f"{file}\n")
