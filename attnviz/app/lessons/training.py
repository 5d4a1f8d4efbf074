"""Training of a model in a separate process, which a visitor can watch."""

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

# One core: the others serve other visitors, and a model this small would not train faster on more.
_ONE_CORE = {"OMP_NUM_THREADS": "1"}
_LISTEN_SECONDS = 0.25
_GRACE_SECONDS = 2.0
_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Training:
    """A request for a training run: the variant, the random seed, and the number of steps."""

    variant: str
    seed: int
    steps: int

    @property
    def command(self) -> list[str]:
        """Command line of the process."""
        return [sys.executable, "-m", "attnviz.trained.live", self.variant, str(self.seed), str(self.steps)]


@dataclass(frozen=True)
class Learned:
    """A training run and its snapshots so far, in order."""

    training: Training
    snapshots: tuple[Snapshot, ...]


def train(training: Training) -> Iterator[Progress[Learned]]:
    """Train in a separate process, which ends when this iterator is closed or this process ends.

    Yields:
        The number of steps done, at first 0; from time to time even without news.

    Raises:
        AttnvizError: the process failed; the message has its last output.
    """
    process = subprocess.Popen(  # noqa: S603 - our own command, with numbers and a known name
        training.command,
        cwd=_ROOT,
        env=os.environ | _ONE_CORE,
        stdin=subprocess.PIPE,  # the process ends when it is closed
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
    """Return the next line; "" after a timeout, None after the last line."""
    try:
        return lines.get(timeout=_LISTEN_SECONDS)
    except Empty:
        return ""
