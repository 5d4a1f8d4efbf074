"""A live training run in a separate process: `python -m attnviz.trained.live guided 1 1200`.

It prints each snapshot and, at intervals, the current step as a line of JSON (`snapshots.line`). It exits
when its standard input is closed, so it ends with the server that started it.
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
from attnviz.trained.translator import evaluation
from attnviz.trained.translator.evaluation import Evaluation
from attnviz.trained.translator.training import Settings

SENTENCES = 60
"""Number of held-out sentences for each measure; evaluating more would take longer than training."""

_NICENESS = 10  # requests to the server have priority
_MIN_INTERVAL_SECONDS = 0.25  # minimum interval between lines with a step


def train_with_snapshots(variant: str, seed: int, steps: int) -> Iterator[int | Snapshot]:
    """Train a variant of the translator or a size of the storyteller.

    Yields:
        The number of each step or, at some steps, a snapshot.
    """
    if variant in SIZES:
        return copying.train_with_snapshots(variant, seed, steps, snapshot_steps(steps))
    settings = Settings.live(variant, seed, steps)
    return evaluation.train_with_snapshots(settings, Evaluation.of(SENTENCES), snapshot_steps(steps))


def snapshot_steps(steps: int) -> tuple[int, ...]:
    """Return the steps at which snapshots are taken; they are closer together at the beginning."""
    early = (0, 25, 50, 75, 100, 150, 200)
    return tuple(sorted({step for step in (*early, *range(200, steps, 100)) if step < steps} | {steps}))


def main(variant: str, seed: int, steps: int) -> None:
    """Train a model, and print its steps and snapshots."""
    threading.Thread(target=_exit_at_end_of_input, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    last = 0.0
    for update in train_with_snapshots(variant, seed, steps):
        if isinstance(update, Snapshot) or time.monotonic() - last > _MIN_INTERVAL_SECONDS:
            last = time.monotonic()
            sys.stdout.write(f"{snapshots.line(update)}\n")
            sys.stdout.flush()


def _exit_at_end_of_input() -> None:
    # With sys.stdin, Python would wait for this thread at exit.
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
