"""Models that visitors open: each is loaded once for everybody, and tells how far it is."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Literal

from attnviz.app import warm_up
from attnviz.capture import loading
from attnviz.capture.loading import Tell
from attnviz.errors import AttnvizError

State = Literal["opening", "open", "stopped", "refused"]

Load = Callable[[str, Tell], object]

_UNFORESEEN = (
    "This model could not be opened, for a reason that attnviz did not foresee. "
    "The log of this server has the details."
)


class _StoppedByVisitors(Exception):
    pass


class Opening:
    """One model on its way into memory; several threads may ask it.

    It goes on when the page that started it is closed, and ends early only when everybody who wanted it has
    pressed "Stop".

    Args:
        name: of the model.
        load: what brings it into memory.
    """

    def __init__(self, name: str, load: Load) -> None:
        self.name = name
        self.doing = "Waiting for its turn"
        self.done = 0.0
        self.problem = ""
        self._load = load
        self._state: State = "opening"
        self._wanted = 1
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def state(self) -> State:
        """Whether it is on its way, and if not, how that ended; "refused": `problem` says why."""
        with self._lock:
            return self._state

    @property
    def seconds(self) -> float:
        """How long ago it began."""
        return time.monotonic() - self._began

    def join(self) -> bool:
        """One visitor more wants it; False: it is no longer on its way, or about to stop."""
        with self._lock:
            if self._state != "opening" or not self._wanted:
                return False
            self._wanted += 1
            return True

    def leave(self) -> None:
        """One visitor no longer wants it; the last one stops it."""
        with self._lock:
            self._wanted = max(0, self._wanted - 1)

    def wait(self, seconds: float) -> State:
        """Its state when it has ended, or after so many seconds."""
        self._thread.join(seconds)
        return self.state

    def _tell(self, doing: str, done: float) -> None:
        with self._lock:
            if not self._wanted:
                raise _StoppedByVisitors
            self.doing, self.done = doing, min(1.0, max(0.0, done))

    def _run(self) -> None:
        try:
            self._load(self.name, self._tell)
        except _StoppedByVisitors:
            self._end("stopped")
        except AttnvizError as error:
            self._end("refused", str(error))
        except Exception:
            logging.getLogger(__name__).exception("A model could not be opened.")
            self._end("refused", _UNFORESEEN)
        else:
            self._end("open")

    def _end(self, state: State, problem: str = "") -> None:
        with self._lock:
            self._state, self.problem = state, problem


def load(name: str, tell: Tell) -> None:
    """Bring a model into memory, and tune the server for it.

    Raises:
        AttnvizError: it cannot be opened; the message says why, and what helps.
    """
    loading.open_model(name, tell)
    warm_up.settle()


class Openings:
    """All models on their way into one server.

    Args:
        load: what brings a model into memory.
    """

    def __init__(self, load: Load = load) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._on_their_way: dict[str, Opening] = {}

    def start(self, name: str) -> Opening:
        """Begin to open a model; who asks for one that is on its way gets that very opening."""
        with self._lock:
            self._on_their_way = {
                other: opening for other, opening in self._on_their_way.items() if opening.state == "opening"
            }
            opening = self._on_their_way.get(name)
            if opening is None or not opening.join():
                opening = self._on_their_way[name] = Opening(name, self._load)
            return opening


SERVER = Openings()
"""This server's."""
