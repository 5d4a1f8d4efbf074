"""A model that learns while a visitor watches, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from attnviz.trained.snapshots import Snapshot, parse_line

# One core: the others are for the server's other visitors, and so small a model would gain nothing by them.
_ONE_CORE = {"OMP_NUM_THREADS": "1"}
_LISTEN_SECONDS = 0.25
_GRACE_SECONDS = 2.0
_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Training:
    """What a visitor wants to train: which model, from which seed, in how many batches."""

    variant: str
    seed: int
    steps: int

    @property
    def command(self) -> list[str]:
        """How the process is started."""
        return [sys.executable, "-m", "attnviz.trained.live", self.variant, str(self.seed), str(self.steps)]


@dataclass(frozen=True)
class Learned:
    """What is trained, and what the model could do after some of its steps, in order."""

    training: Training
    snapshots: tuple[Snapshot, ...]


def train(training: Training) -> Iterator[Progress[Learned]]:
    """Train in a process of its own, which ends when this iterator is closed, and when this process ends.

    Yields:
        How many steps are done, first none; now and then, even if there is nothing new.

    Raises:
        AttnvizError: the process failed; the message has its last words.
    """
    process = subprocess.Popen(  # noqa: S603 - our own command, with numbers and a known name
        training.command,
        cwd=_ROOT,
        env=os.environ | _ONE_CORE,
        stdin=subprocess.PIPE,  # the process watches it, and ends when it is closed
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None  # noqa: S101 - stdout is a pipe
    lines: SimpleQueue[str | None] = SimpleQueue()
    lines.put("")  # it has begun
    listener = threading.Thread(target=_listen, args=(process.stdout, lines), daemon=True)
    listener.start()
    step, snapshots, last_words = 0, tuple[Snapshot, ...](), ""
    try:
        while (line := _next(lines)) is not None:
            news = parse_line(line)
            if news is None:
                last_words = line.strip() or last_words
            elif isinstance(news, int):
                step = news
            else:
                step, snapshots = news.step, (*snapshots, news)
            yield Progress(step, training.steps, Learned(training, snapshots))
        if process.wait():
            raise AttnvizError(f"The training ended with an error: {last_words}")
    finally:
        process.terminate()
        try:
            process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        listener.join()
        with process:  # closes its pipes
            pass


def _listen(output: IO[str], lines: SimpleQueue[str | None]) -> None:
    for line in output:
        lines.put(line)
    lines.put(None)


def _next(lines: SimpleQueue[str | None]) -> str | None:
    """The next line, an empty one if there is none for a while, or None after the last."""
    try:
        return lines.get(timeout=_LISTEN_SECONDS)
    except Empty:
        return ""
