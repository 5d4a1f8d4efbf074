"""Long computations behind a page: each shows how far it is, can be stopped, and goes on where it stopped."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, Literal, TypeVar

from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress

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
    """One computation runs at a time, a step each in turn: who has waited longest is next.

    Who waits is a thread: each run of a work has one of its own, so that a run that ends can never give away
    the place of the run that follows it.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[threading.Thread] = deque()

    def take(self, seconds: float) -> bool:
        """Wait for this thread's turn, so many seconds at most; if it goes away, it must `give` its place."""
        who = threading.current_thread()
        with self._changed:
            if who not in self._queue:
                self._queue.append(who)
            return self._changed.wait_for(lambda: self._queue[0] is who, seconds)

    def give(self) -> None:
        """Let the next one have its turn."""
        who = threading.current_thread()
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
        """Begin, or go on where it stopped; nothing if it runs, or is finished. Refused, it begins anew."""
        with self._lock:
            self._watched = time.monotonic()
            if self._state == "finished":
                return
            self._wanted = True
            if self._thread is None:
                if self._state == "refused":
                    self.latest = None
                thread = threading.Thread(target=self._run, daemon=True)
                thread.start()  # its first act is to wait for the lock
                self._state, self._thread = "waiting", thread

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
        """Stop, and give back what the computation holds; started again, it would begin anew.

        Args:
            seconds: how long its present step is awaited. If it takes longer, all is given back after it.
        """
        self.stop()
        self.wait(seconds)
        # A generator that nobody holds is closed. As Python ends it would be, too, with half of Python gone.
        self._iterator = None

    def _goes_on(self) -> bool:
        """Whether this thread does the next step."""
        with self._lock:
            if self._thread is not threading.current_thread():
                return False
            left_alone = time.monotonic() - self._watched > self._patience
            if left_alone or not self._wanted:
                self._rest("left alone" if self._wanted else "stopped")
            return self._thread is not None

    def _rest(self, state: State) -> None:
        """This thread never steps again, and who starts the work starts another; call it with the lock."""
        self._state, self._thread = state, None

    def _run(self) -> None:
        while self._goes_on():
            if _turns.take(_PATIENCE_OF_A_TURN):
                try:
                    self._step()
                finally:
                    _turns.give()
        _turns.give()

    def _step(self) -> None:
        with self._lock:
            self._state = "running"
        try:
            iterator = self._iterator = self._iterator or self._steps()
            step = next(iterator, None)
        except AttnvizError as error:
            self._end("refused", str(error))
        except Exception:
            logging.getLogger(__name__).exception("A long computation failed.")
            self._end("refused", _UNFORESEEN)
        else:
            if step is None:
                self._end("finished")
            else:
                self.latest = step

    def _end(self, state: State, problem: str = "") -> None:
        with self._lock:
            self._rest(state)
            self.problem, self._iterator = problem, None


class Works:
    """The works of one server: who asks for one that somebody else has begun gets that very work."""

    def __init__(self, most: int = MOST_WORKS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._works: OrderedDict[Hashable, Work[Any]] = OrderedDict()

    def find(self, key: Hashable, steps: Callable[[], Iterator[Progress[Found]]]) -> Work[Found]:
        """The work of this key; it begins only when it is started, and anew only when it is started again.

        Args:
            key: what is computed, with every choice that alters it; hashable. A text that a model reads at
                once may stand in it; of a longer one, its hash.
            steps: begins the computation.
        """
        with self._lock:
            work = self._works.get(key)
            if work is None:
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
