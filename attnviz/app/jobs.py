"""Long computations behind a page: each tells how far it is and can be stopped; most can go on afterwards."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from typing import Any, Generic, Literal, TypeVar

from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress

Found = TypeVar("Found")

State = Literal["not begun", "queued", "running", "stopped", "left alone", "finished", "refused"]

RUNNING: tuple[State, ...] = ("queued", "running")
"""The states of a job that goes on without being asked again."""

PATIENCE_SECONDS = 10.0
"""How long a job goes on after the last sign of life of a page that shows it."""

MOST_JOBS = 16
"""How many jobs a server keeps, with what they found; the one that was not asked for longest goes first.

Those that run are kept besides: thirty visitors with a sentence each do not push each other out.
"""

_LAST_STEP_SECONDS = 10.0

_UNFORESEEN = (
    "This could not be done, for a reason that attnviz did not foresee. "
    "The log of this server has the details."
)


Visitor = Hashable
"""Who wants a job: one visit; None: nobody in particular."""


class Lane:
    """Where steps wait, of which so many run at once: next is the one that has waited longest.

    Each step of a job waits anew, so that jobs take turns.

    Python waits at its end for the threads of a ThreadPoolExecutor, even for one in the midst of a download.
    These threads are left behind.

    Args:
        at_once: how many steps run at once.
    """

    def __init__(self, at_once: int) -> None:
        self._lock = threading.Lock()
        self._queue: deque[tuple[Future[None], Callable[[], None]]] = deque()
        self._free = at_once

    def submit(self, step: Callable[[], None]) -> Future[None]:
        """Queue a step, which raises nothing. Its future can be cancelled until the step begins."""
        future = Future[None]()
        with self._lock:
            self._queue.append((future, step))
            self._begin()
        return future

    def waiting(self) -> int:
        """How many steps wait."""
        return len(self._queue)

    def _begin(self) -> None:
        """Begin all that may run now; whoever calls it holds the lock."""
        while self._free and self._queue:
            future, step = self._queue.popleft()
            if future.set_running_or_notify_cancel():
                self._free -= 1
                threading.Thread(target=self._run, args=(future, step), daemon=True).start()

    def _run(self, future: Future[None], step: Callable[[], None]) -> None:
        step()
        future.set_result(None)
        with self._lock:
            self._free += 1
            self._begin()


COMPUTING = Lane(1)
"""Where computations take turns, step by step: none keeps the others waiting, nor the server's visitors."""


class JobStopped(Exception):
    """Ends a step in the midst of which its job was stopped."""


class Job(Generic[Found]):
    """One long computation, as far as it has come; several threads may ask it.

    It is done step by step, and stops between two steps: when everybody who wanted it has called `stop`, or
    when no page has called `watched` for a while. What it has found stays.

    Args:
        steps: begins the computation. Between two steps it may stand still for long, and each may be done by
            another thread: a step holds no lock when it ends, and has left every context that it entered.
        lane: where its steps wait for their turn.
        patience: after how many seconds without `watched` it stops.
        resumes: whether it goes on where it stopped. Otherwise what it holds is given back when it stops, and
            it begins anew.

    Attributes:
        latest: how far it is, and what it has found.
        problem: why it was refused; "" if it was not.
        resumes: as above.
    """

    def __init__(
        self,
        steps: Callable[[], Iterator[Progress[Found]]],
        *,
        lane: Lane = COMPUTING,
        patience: float = PATIENCE_SECONDS,
        resumes: bool = True,
    ) -> None:
        self.latest: Progress[Found] | None = None
        self.problem = ""
        self.resumes = resumes
        self._steps, self._lane, self._patience = steps, lane, patience
        self._iterator: Iterator[Progress[Found]] | None = None
        self._queued: Future[None] | None = None
        self._state: State = "not begun"
        self._wanted_by: dict[Visitor, None] = {}
        self._stopped_by: set[Visitor] = set()
        self._watched = self._began = self._ended = time.monotonic()
        self._changed = threading.Condition()

    @property
    def state(self) -> State:
        """Whether it runs, and if not, why."""
        with self._changed:
            return self._state

    @property
    def running(self) -> bool:
        """Whether it will find more without being asked again."""
        return self.state in RUNNING

    def state_for(self, visitor: Visitor) -> State:
        """Its state as this visitor sees it: stopped, if they stopped it and others still want it."""
        with self._changed:
            return "stopped" if self._state in RUNNING and visitor in self._stopped_by else self._state

    @property
    def seconds(self) -> float:
        """How long it has been running since it was started last, its time in the queue included."""
        with self._changed:
            return (time.monotonic() if self._state in RUNNING else self._ended) - self._began

    def start(self, visitor: Visitor = None) -> None:
        """Begin, or go on where it stopped; nothing if it runs or is finished. Refused, it begins anew.

        `visitor` is who wants it: each stops it for themselves alone.
        """
        with self._changed:
            if self._state == "finished":
                return
            self._watched = time.monotonic()
            self._wanted_by[visitor] = None
            self._stopped_by.discard(visitor)
            if self._state not in RUNNING:
                if self._iterator is None:
                    self.latest = None
                self._state, self.problem, self._began = "queued", "", time.monotonic()
                self._queue_step()

    def stop(self, visitor: Visitor = None) -> None:
        """Stop after the present step, unless somebody else wants it; what was found stays."""
        with self._changed:
            self._wanted_by.pop(visitor, None)
            self._stopped_by.add(visitor)
            if self._wanted_by or self._queued is None or not self._queued.cancel():
                return  # a step that runs already looks itself whether it is the last
            self._queued = None
        self._go_on_or_rest()

    def watched(self) -> None:
        """A page that shows it is still open."""
        self._watched = time.monotonic()

    def report(self, progress: Progress[Found]) -> None:
        """Tell in the midst of a step how far it is.

        Raises:
            JobStopped: nobody wants it any more. The step lets this through, which ends the job; started
                again, it begins anew.
        """
        with self._changed:
            if not self._wanted_by:
                raise JobStopped
            self.latest = progress

    def wait(self, seconds: float) -> State:
        """Its state when it has ended or stopped, or after so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._state not in RUNNING, seconds)
            return self._state

    def end(self, seconds: float) -> None:
        """Stop for everybody, and give back what the computation holds; started again, it would begin anew.

        Its present step is awaited for so many seconds. If it takes longer, all is given back after it.
        """
        with self._changed:
            self._wanted_by.clear()
        self.stop()
        self.wait(seconds)
        # A generator that nobody holds is closed. As Python ends it would be, too, with half of Python gone.
        self._iterator = None

    def _step(self) -> None:
        with self._changed:
            wanted = self._why_to_rest() is None
            if wanted:
                self._state = "running"
        if not wanted or self._find_more():
            self._go_on_or_rest()

    def _find_more(self) -> bool:
        """Do one step; whether another one may follow."""
        try:
            # In no variable of this function: when the job lets go of the iterator, nothing else may hold it.
            step = next(self._begun(), None)
        except JobStopped:
            self._iterator = None
            return True
        except AttnvizError as error:
            self._rest("refused", str(error))
        except Exception:
            logging.getLogger(__name__).exception("A long computation failed.")
            self._rest("refused", _UNFORESEEN)
        else:
            if step is not None:
                self.latest = step
                return True
            self._rest("finished")
        return False

    def _begun(self) -> Iterator[Progress[Found]]:
        iterator = self._iterator
        if iterator is None:
            iterator = self._iterator = self._steps()
        return iterator

    def _go_on_or_rest(self) -> None:
        """Queue the next step, unless the job was stopped; no step of it runs or waits now."""
        with self._changed:
            why = self._why_to_rest()
            if why is None:
                self._queue_step()
                return
            if self.resumes or self._iterator is None:
                self._rest(why)
                return
        self._iterator = None  # closed outside of the lock: to end a process takes time
        self._go_on_or_rest()  # it may have been started meanwhile

    def _queue_step(self) -> None:
        self._queued = self._lane.submit(self._step)

    def _why_to_rest(self) -> State | None:
        if not self._wanted_by:
            return "stopped"
        return "left alone" if time.monotonic() - self._watched > self._patience else None

    def _rest(self, state: State, problem: str = "") -> None:
        if state in ("finished", "refused"):
            self._iterator = None
        with self._changed:
            self._state, self.problem, self._ended = state, problem, time.monotonic()
            self._stopped_by.clear()
            self._changed.notify_all()


class Jobs:
    """The jobs of one server: who asks for one that somebody else has begun gets that very job.

    Args:
        most: how many are kept that do not run.
    """

    def __init__(self, most: int = MOST_JOBS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._jobs: OrderedDict[Hashable, Job[Any]] = OrderedDict()

    def find(self, key: Hashable, steps: Callable[[], Iterator[Progress[Found]]]) -> Job[Found]:
        """The job of this key; it begins only when it is started, and anew only when it is started again.

        Args:
            key: what is computed, with every choice that alters it; hashable. A text that a model reads at
                once may stand in it; of a longer one, its hash.
            steps: begins the computation.
        """
        with self._lock:
            return self._put(key, self._jobs.get(key) or Job(steps))

    def begin(self, key: Hashable, job: Job[Found], visitor: Visitor = None) -> Job[Found]:
        """The job of this key if it runs, or else this one in its place; it is started for this visitor."""
        with self._lock:
            running = self._jobs.get(key)
            found = self._put(key, running if running is not None and running.running else job)
            found.start(visitor)
            return found

    def running(self, key: Hashable) -> Job[Any] | None:
        """The job of this key, if it runs."""
        with self._lock:
            job = self._jobs.get(key)
            return job if job is not None and job.running else None

    def close(self, seconds: float = _LAST_STEP_SECONDS) -> None:
        """Stop all jobs, and wait so many seconds for the steps in which they are.

        A thread in the midst of a model's pass, when Python ends, would not end but abort it.
        """
        with self._lock:
            jobs = list(self._jobs.values())
        for job in jobs:
            job.end(0)
        until = time.monotonic() + seconds
        for job in jobs:
            job.end(max(0.0, until - time.monotonic()))

    def _put(self, key: Hashable, job: Job[Found]) -> Job[Found]:
        self._jobs[key] = job
        self._jobs.move_to_end(key)
        resting = [key for key, other in self._jobs.items() if not other.running and other is not job]
        for oldest in resting[: max(0, len(self._jobs) - self._most)]:
            del self._jobs[oldest]
        return job


JOBS = Jobs()
"""This server's."""

atexit.register(JOBS.close)
