"""`live`: a training that tells, line by line, how far it is; the page's live training listens to it."""

from __future__ import annotations

import os
import threading
from typing import Annotated

import typer

from attnviz.cli import app
from attnviz.cli.train import Variant
from attnviz.trained.translator.live import tell

_NICENESS = 10  # a server answers its other visitors first


@app.command("live")
def run(
    variant: Variant,
    seed: Annotated[int, typer.Option(help="Of everything that is random.")],
    steps: Annotated[int, typer.Option(help="How many training steps.")],
) -> None:
    """Train, and tell how far it is until the input is closed.

    It prints one JSON object a line: the step, or from time to time a whole snapshot. Its input is closed as
    soon as the server that started it is gone, however that ended.
    """
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    tell(variant, seed, steps)


def _end_with_the_input() -> None:
    # Not sys.stdin: Python waits at its own end for whoever is still reading that.
    while os.read(0, 1024):
        pass
    os._exit(0)
