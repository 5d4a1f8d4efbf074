"""Live training: one at a time on a server, in a process of its own, and only as long as somebody watches."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attnviz.trained.translator import live
from attnviz.trained.translator.learning import Snapshot

OFF = "ATTNVIZ_LIVE_TRAINING"
"""The environment variable with which who runs a server switches live training off: "off"."""

PATIENCE_SECONDS = 8.0
"""How long a training goes on after the last sign of life of the page that started it."""

# One core: the others are for the server's other visitors, and so small a model would gain nothing by them.
_ONE_CORE = {"OMP_NUM_THREADS": "1"}
_GRACE_SECONDS = 2.0
_ROOT = Path(__file__).parents[2]

State = Literal["running", "finished", "stopped", "left alone", "failed"]


@dataclass(frozen=True)
class Wish:
    """What a visitor wants to train.

    Attributes:
        variant: the name of what it is told.
        seed: of its first random weights and of the order of its sentences.
        steps: how many batches it learns from.
    """

    variant: str
    seed: int
    steps: int

    @property
    def command(self) -> list[str]:
        """How the process is started."""
        settings = {"variant": self.variant, "seed": self.seed, "steps": self.steps}
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [sys.executable, "-m", "attnviz", "live", *options]


class Training:
    """One training, as far as it has told; several threads may ask it.

    It ends when it is done, when it is told to, when nobody asks for it any more, and when this process ends:
    its input is then closed, and it watches that.

    Args:
        wish: what to train.
        command: what to start in place of `wish.command`.
        patience: after how many seconds without `watched` nobody asks for it any more.
    """

    def __init__(
        self, wish: Wish, command: Sequence[str] | None = None, patience: float = PATIENCE_SECONDS
    ) -> None:
        self.wish = wish
        self.step = 0
        self.snapshots: tuple[Snapshot, ...] = ()
        self.problem = ""
        self._ending: State | None = None
        self._patience = patience
        self._began = self._watched = time.monotonic()
        self._ended: float | None = None
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 - our own command, with numbers and a known name
            command or wish.command,
            cwd=_ROOT,
            env=os.environ | _ONE_CORE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        threading.Thread(target=self._guard, daemon=True).start()

    @property
    def state(self) -> State:
        """Whether it runs, and if not, how it ended; "failed": by a fault, which `problem` tells."""
        with self._lock:
            return "running" if self._ended is None else self._ending or "failed"

    @property
    def seconds(self) -> float:
        """How long it has run, its process's start included."""
        return (self._ended or time.monotonic()) - self._began

    def watched(self) -> None:
        """The page that started it is still open."""
        self._watched = time.monotonic()

    def stop(self, ending: State = "stopped") -> None:
        """End it; returns when its process has ended."""
        with self._lock:
            self._ending = self._ending or ending
        self._process.terminate()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._listener.join()

    def _listen(self) -> None:
        """Keep what the process tells, until it ends."""
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        for line in self._process.stdout:
            told = live.understood(line)
            if isinstance(told, Snapshot):
                self.snapshots = (*self.snapshots, told)
                self.step = told.step
            elif told is not None:
                self.step = told
            else:
                self.problem = line.strip() or self.problem
        status = self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        with self._lock:
            if status == 0:
                self._ending = self._ending or "finished"
            self._ended = time.monotonic()

    def _guard(self) -> None:
        """End the process if nobody watches any more."""
        while self._listener.is_alive():
            if time.monotonic() - self._watched > self._patience:
                self.stop("left alone")
            self._listener.join(min(1.0, self._patience / 4))


class OneAtATime:
    """The place where a server trains: there is room for one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: Training | None = None

    @property
    def running(self) -> Training | None:
        """The training that runs now, whoever started it."""
        latest = self._latest
        return latest if latest and latest.state == "running" else None

    def start(
        self, wish: Wish, command: Sequence[str] | None = None, patience: float = PATIENCE_SECONDS
    ) -> Training | None:
        """Begin a training; None: another one is running.

        Args:
            wish, command, patience: as `Training` takes them.
        """
        with self._lock:
            if self.running:
                return None
            self._latest = Training(wish, command, patience)
            return self._latest


SERVER = OneAtATime()
"""This server's one place."""


def switched_off() -> bool:
    """Whether who runs this server does not want live training."""
    return os.environ.get(OFF, "").strip().lower() in {"off", "0", "no", "false"}
