"""A live training run in a separate process: `python -m attnviz.trained.live guided 1 1200`.

It prints a line for each snapshot and, from time to time, for the step (`snapshots.line`). It exits when its
standard input is closed, so that it never outlives the server that started it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator

from attnviz.trained import snapshots
from attnviz.trained.snapshots import Snapshot
from attnviz.trained.storyteller import copying
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.translator import examination
from attnviz.trained.translator.examination import Examination
from attnviz.trained.translator.training import Settings

SENTENCES = 60
"""Held-out sentences for each measure; few, so that evaluation is faster than training."""

_NICENESS = 10  # requests to the server have priority
_PAUSE_SECONDS = 0.25  # minimum time between two lines with a step


def watch(variant: str, seed: int, steps: int) -> Iterator[int | Snapshot]:
    """Train a variant of the translator or a size of the storyteller.

    Yields:
        The number of each step, or a snapshot instead.
    """
    if variant in SIZES:
        return copying.watch(variant, seed, steps, moments(steps))
    settings = Settings.live(variant, seed, steps)
    return examination.watch(settings, Examination.of(SENTENCES), moments(steps))


def moments(steps: int) -> tuple[int, ...]:
    """Return the steps at which a snapshot is taken: more often at first."""
    early = (0, 25, 50, 75, 100, 150, 200)
    return tuple(sorted({step for step in (*early, *range(200, steps, 100)) if step < steps} | {steps}))


def main(variant: str, seed: int, steps: int) -> None:
    """Train, and print steps and snapshots."""
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    last = 0.0
    for news in watch(variant, seed, steps):
        if isinstance(news, Snapshot) or time.monotonic() - last > _PAUSE_SECONDS:
            last = time.monotonic()
            sys.stdout.write(f"{snapshots.line(news)}\n")
            sys.stdout.flush()


def _end_with_the_input() -> None:
    # Not sys.stdin: at exit, Python waits for a thread that reads it.
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
