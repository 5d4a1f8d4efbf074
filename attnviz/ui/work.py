"""Long computations behind a page: each shows how far it is, can be stopped, and goes on where it stopped."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Hashable, Iterator
from typing import Any, Generic, Literal, TypeVar

from attnviz.errors import AttnvizError
from attnviz.heads.progress import Progress

Found = TypeVar("Found")

State = Literal["not begun", "waiting", "running", "stopped", "left alone", "finished", "refused"]

RUNNING: tuple[State, ...] = ("waiting", "running")
"""The states of a work that will find more without being asked again."""

PATIENCE_SECONDS = 10.0
"""How long a work goes on after the last sign of life of a page that shows it."""

_LAST_STEP_SECONDS = 10.0

MOST_WORKS = 16
"""How many works a server keeps, with what they found; the one that was not asked for longest goes first.

Those that run are kept besides: thirty visitors with a sentence each do not push each other out.
"""

_PATIENCE_OF_A_TURN = 0.2

_UNFORESEEN = (
    "This could not be computed, for a reason that attnviz did not foresee. "
    "The log of this server has the details."
)


class _Turns:
    """One computation runs at a time, a step each in turn: who has waited longest is next."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()

    def take(self, who: object, seconds: float) -> bool:
        """Wait for one's turn, so many seconds at most; who goes away must `give` the place back."""
        with self._changed:
            if who not in self._queue:
                self._queue.append(who)
            return self._changed.wait_for(lambda: self._queue[0] is who, seconds)

    def give(self, who: object) -> None:
        """Let the next one have its turn."""
        with self._changed:
            if who in self._queue:
                self._queue.remove(who)
            self._changed.notify_all()


_turns = _Turns()


class Work(Generic[Found]):
    """One long computation, as far as it has come; several threads may ask it.

    What it has found stays when it is stopped, and when nobody watches any more. Works of one server take
    turns, step by step, so that none keeps the others waiting, nor the server's other visitors.

    Args:
        steps: begins the computation.
        patience: after how many seconds without `watched` it stops.
    """

    def __init__(
        self, steps: Callable[[], Iterator[Progress[Found]]], patience: float = PATIENCE_SECONDS
    ) -> None:
        self.latest: Progress[Found] | None = None
        self.problem = ""
        self._steps = steps
        self._patience = patience
        self._iterator: Iterator[Progress[Found]] | None = None
        self._state: State = "not begun"
        self._wanted = False
        self._watched = time.monotonic()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def state(self) -> State:
        """Whether it runs, and if not, why; "refused": `problem` tells."""
        with self._lock:
            return self._state

    def start(self) -> None:
        """Begin, or go on where it stopped; nothing if it runs, or is finished."""
        with self._lock:
            self._watched = time.monotonic()
            if self._state == "finished":
                return
            self._wanted = True
            if self._thread is None or not self._thread.is_alive():
                self._state = "waiting"
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Stop after the present step; what was found stays."""
        with self._lock:
            self._wanted = False

    def watched(self) -> None:
        """A page that shows it is still open."""
        self._watched = time.monotonic()

    def wait(self, seconds: float) -> State:
        """Its state when it has ended or stopped, or after so many seconds."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return self.state

    def end(self, seconds: float) -> None:
        """Stop for good, and give back what the computation holds; it has so many seconds for its step."""
        self.stop()
        self.wait(seconds)
        with self._lock:
            rests = self._thread is None or not self._thread.is_alive()
            if rests and isinstance(self._iterator, Generator):
                self._iterator.close()  # else Python would, when it has taken away half of itself already

    def _goes_on(self) -> bool:
        with self._lock:
            left_alone = time.monotonic() - self._watched > self._patience
            if left_alone or not self._wanted:
                self._state = "left alone" if self._wanted else "stopped"
                self._thread = None  # whoever starts it again starts another
            return self._thread is not None

    def _run(self) -> None:
        goes_on = True
        while goes_on and self._goes_on():
            if _turns.take(self, _PATIENCE_OF_A_TURN):
                try:
                    goes_on = self._step()
                finally:
                    _turns.give(self)
        _turns.give(self)

    def _step(self) -> bool:
        """One step; whether there may be another."""
        with self._lock:
            self._state = "running"
        try:
            self._iterator = self._iterator or self._steps()
            step = next(self._iterator, None)
        except AttnvizError as error:
            return self._end("refused", str(error))
        except Exception:
            logging.getLogger(__name__).exception("A long computation failed.")
            return self._end("refused", _UNFORESEEN)
        if step is None:
            return self._end("finished")
        self.latest = step
        return True

    def _end(self, state: State, problem: str = "") -> bool:
        with self._lock:
            self._state, self.problem = state, problem
            self._iterator = None
        return False


class Works:
    """The works of one server: who asks for one that somebody else has begun gets that very work."""

    def __init__(self, most: int = MOST_WORKS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._works: OrderedDict[Hashable, Work[Any]] = OrderedDict()

    def find(self, key: Hashable, steps: Callable[[], Iterator[Progress[Found]]]) -> Work[Found]:
        """The work of this key; it begins only when it is started.

        Args:
            key: what is computed, with every choice that alters it; hashable, and short (of a long text, its
                hash).
            steps: begins the computation.
        """
        with self._lock:
            work = self._works.get(key)
            if work is None or work.state == "refused":
                work = self._works[key] = Work(steps)
            self._works.move_to_end(key)
            resting = [
                key for key, other in self._works.items() if other.state not in RUNNING and other is not work
            ]
            for oldest in resting[: max(0, len(self._works) - self._most)]:
                del self._works[oldest]
            return work

    def close(self) -> None:
        """Stop all works, and wait for the step in which each of them is.

        A thread in the midst of a model's pass, when Python ends, would not end but abort it.
        """
        with self._lock:
            works = list(self._works.values())
        for work in works:
            work.stop()
        for work in works:
            work.end(_LAST_STEP_SECONDS)


SERVER = Works()
"""This server's."""

atexit.register(SERVER.close)
