"""Live training of a model in a separate process."""

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

# More cores would not speed up the training of such small models, and are left to other visitors.
_ONE_CORE = {"OMP_NUM_THREADS": "1"}
_POLL_SECONDS = 0.25
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
class TrainingState:
    """A training run, and its snapshots so far."""

    training: Training
    snapshots: tuple[Snapshot, ...]


def train(training: Training) -> Iterator[Progress[TrainingState]]:
    """Train in a separate process, which ends when this iterator is closed or this process ends.

    Yields:
        The state: at step 0, after each line of output, and after `_POLL_SECONDS` without output.

    Raises:
        AttnvizError: the process failed; the message contains its last output.
    """
    process = subprocess.Popen(  # noqa: S603 - our own command, with numbers and a known name
        training.command,
        cwd=_ROOT,
        env=os.environ | _ONE_CORE,
        stdin=subprocess.PIPE,  # closing it ends the process
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None  # noqa: S101 - stdout is a pipe
    lines: SimpleQueue[str | None] = SimpleQueue()
    lines.put("")  # yields the state at step 0
    listener = threading.Thread(target=_listen, args=(process.stdout, lines), daemon=True)
    listener.start()
    step, snapshots, last_line = 0, tuple[Snapshot, ...](), ""
    try:
        while (line := _next(lines)) is not None:
            parsed = parse_line(line)
            if parsed is None:
                last_line = line.strip() or last_line
            elif isinstance(parsed, int):
                step = parsed
            else:
                step, snapshots = parsed.step, (*snapshots, parsed)
            yield Progress(step, training.steps, TrainingState(training, snapshots))
        if process.wait():
            raise AttnvizError(f"The training ended with an error: {last_line}")
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
        return lines.get(timeout=_POLL_SECONDS)
    except Empty:
        return ""
