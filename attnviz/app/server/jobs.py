"""Long computations behind a page: they run in a thread pool, report their progress and can be stopped."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, Literal, TypeVar

from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress

Found = TypeVar("Found")

State = Literal["not begun", "queued", "running", "unwatched", "stopped", "finished", "refused"]

RUNNING: tuple[State, ...] = ("queued", "running")
"""The states of a job that finds more without being started again."""

MAX_RUNNING = 2
"""The maximum number of jobs that run at once; the others are queued."""

MAX_JOBS = 16
"""The maximum number of jobs that a server keeps with their results; those that run are kept besides."""

UNWATCHED_SECONDS = 10.0
"""How long a job runs on after the last page that shows it was closed."""

_UNFORESEEN = "The computation failed for an unexpected reason. The log of this server has the details."

_pool = ThreadPoolExecutor(MAX_RUNNING, "job")

Visitor = Hashable
"""One session; None where there is none."""


class JobStopped(Exception):
    """Raised by `Job.report` in a job that nobody wants any more."""


class Job(Generic[Found]):
    """One long computation; its methods may be called from any thread.

    It stops after the present step when all its visitors have called `stop` or have closed their pages.

    Args:
        steps: begins the computation. Its steps may run in different threads: a step holds no lock when it
            ends, and has left every context that it entered.
        unwatched_seconds: how long it runs after the last call of `watch`.
        resumes: whether it continues where it stopped. If not, its iterator is closed when it stops.

    Attributes:
        latest: the last progress, with what was found so far.
        problem: why it was refused; "" if it was not.
        resumes: as above.
    """

    def __init__(
        self,
        steps: Callable[[], Iterator[Progress[Found]]],
        *,
        unwatched_seconds: float = UNWATCHED_SECONDS,
        resumes: bool = True,
    ) -> None:
        self.latest: Progress[Found] | None = None
        self.problem = ""
        self.resumes = resumes
        self._steps, self._unwatched_seconds = steps, unwatched_seconds
        self._iterator: Iterator[Progress[Found]] | None = None
        self._state: State = "not begun"
        self._queued = Future[None]()
        self._seen: dict[Visitor, float] = {}
        self._stopped_by: set[Visitor] = set()
        self._began = self._ended = time.monotonic()
        self._changed = threading.Condition()

    @property
    def state(self) -> State:
        """Whether it runs, and if not, why."""
        with self._changed:
            return self._state

    @property
    def running(self) -> bool:
        """Whether it finds more without being started again."""
        return self.state in RUNNING

    def state_for(self, visitor: Visitor) -> State:
        """Return its state for one visitor: "stopped" if they stopped it, although it may run for others."""
        with self._changed:
            ended = self._state in ("finished", "refused")
            return "stopped" if visitor in self._stopped_by and not ended else self._state

    @property
    def seconds(self) -> float:
        """How long it has been running since its last start, with its time in the queue."""
        with self._changed:
            return (time.monotonic() if self._state in RUNNING else self._ended) - self._began

    def start(self, visitor: Visitor = None) -> None:
        """Run for this visitor: continue where it stopped, or begin anew after it was refused."""
        with self._changed:
            if self._state == "finished":
                return
            self._seen[visitor] = time.monotonic()
            self._stopped_by.discard(visitor)
            if self._state not in RUNNING:
                if self._iterator is None:
                    self.latest = None
                self._state, self.problem, self._began = "queued", "", time.monotonic()
                self._queued = _pool.submit(self._run)

    def watch(self, visitor: Visitor = None) -> None:
        """Note that a page of this visitor shows it."""
        with self._changed:
            if visitor not in self._stopped_by:
                self._seen[visitor] = time.monotonic()

    def stop(self, visitor: Visitor = None) -> None:
        """Stop it for this visitor; it runs on for the others."""
        with self._changed:
            self._seen.pop(visitor, None)
            self._stopped_by.add(visitor)
            if not self._is_wanted() and self._queued.cancel():
                self._end("unwatched")

    def report(self, progress: Progress[Found]) -> None:
        """Report progress within a step.

        Raises:
            JobStopped: nobody wants it any more. The step lets this through; started again, it begins anew.
        """
        with self._changed:
            if not self._is_wanted():
                raise JobStopped
            self.latest = progress

    def wait(self, seconds: float) -> State:
        """Return its state when it does not run any more, or after so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._state not in RUNNING, seconds)
            return self._state

    def _run(self) -> None:
        state: State = "unwatched"
        try:
            while self._may_go_on():
                # No variable holds the iterator: without the attribute, a generator closes.
                step = next(self._begun(), None)
                if step is None:
                    state = "finished"
                    break
                self.latest = step
        except JobStopped:
            self._iterator = None
        except AttnvizError as error:
            state, self.problem = "refused", str(error)
        except Exception:
            logging.getLogger(__name__).exception("A long computation failed.")
            state, self.problem = "refused", _UNFORESEEN
        if state != "unwatched" or not self.resumes:
            self._iterator = None  # outside of the lock: to end a process takes time
        with self._changed:
            if state == "unwatched" and self._is_wanted():  # started again meanwhile
                self._queued = _pool.submit(self._run)
            else:
                self._end(state)

    def _may_go_on(self) -> bool:
        with self._changed:
            self._state = "running"
            return self._is_wanted()

    def _begun(self) -> Iterator[Progress[Found]]:
        iterator = self._iterator = self._iterator or self._steps()
        return iterator

    def _is_wanted(self) -> bool:
        now = time.monotonic()
        return any(now - seen < self._unwatched_seconds for seen in self._seen.values())

    def _end(self, state: State) -> None:
        self._state, self._ended = state, time.monotonic()
        self._changed.notify_all()


class Jobs:
    """The jobs of one server; equal requests share one job.

    Args:
        max_jobs: how many are kept that do not run.
    """

    def __init__(self, max_jobs: int = MAX_JOBS) -> None:
        self._max_jobs = max_jobs
        self._lock = threading.Lock()
        self._jobs: OrderedDict[Hashable, Job[Any]] = OrderedDict()

    def find(self, key: Hashable, steps: Callable[[], Iterator[Progress[Found]]]) -> Job[Found]:
        """Return the job of this key, which runs when it is started.

        Args:
            key: what is computed, with every choice that alters it; of a long text, its hash.
            steps: begins the computation.
        """
        with self._lock:
            return self._put(key, self._jobs.get(key) or Job(steps))

    def begin(self, key: Hashable, job: Job[Found], visitor: Visitor = None) -> Job[Found]:
        """Return the job of this key if it runs, or else this one in its place, started for this visitor."""
        with self._lock:
            running = self._jobs.get(key)
            found = self._put(key, running if running is not None and running.running else job)
            found.start(visitor)
            return found

    def running(self, key: Hashable) -> Job[Any] | None:
        """Return the job of this key, if it runs."""
        with self._lock:
            job = self._jobs.get(key)
            return job if job is not None and job.running else None

    def queued(self) -> int:
        """Return how many jobs wait for their turn."""
        with self._lock:
            return sum(job.state == "queued" for job in self._jobs.values())

    def _put(self, key: Hashable, job: Job[Found]) -> Job[Found]:
        self._jobs[key] = job
        self._jobs.move_to_end(key)
        resting = [key for key, other in self._jobs.items() if not other.running and other is not job]
        for oldest in resting[: max(0, len(self._jobs) - self._max_jobs)]:
            del self._jobs[oldest]
        return job


JOBS = Jobs()
"""This server's jobs."""
