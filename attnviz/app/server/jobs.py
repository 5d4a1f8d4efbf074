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

State = Literal["paused", "queued", "running", "finished", "refused"]

RUNNING: tuple[State, ...] = ("queued", "running")
"""The states of a job that is queued or running."""

MAX_RUNNING = 2
"""The maximum number of jobs that run at once; the others are queued."""

MAX_JOBS = 16
"""The maximum number of jobs that a server keeps with their results; those that run are kept besides."""

UNWATCHED_SECONDS = 10.0
"""How long a job runs on after the last page that shows it was closed."""

_UNEXPECTED = "The computation failed for an unexpected reason. The log of this server has the details."

_pool = ThreadPoolExecutor(MAX_RUNNING, "job")

Visitor = Hashable
"""One session; None where there is none."""


class JobStopped(Exception):
    """Raised by `Job.report` in a job that is to stop."""


class Job(Generic[Found]):
    """One long computation; its methods may be called from any thread.

    It pauses after the present step when all its visitors have called `stop` or have closed their pages.

    Args:
        steps: begins the computation. Its steps may run in different threads: a step holds no lock when it
            ends, and has left every context that it entered.
        unwatched_seconds: how long it runs after the last call of `watch`.
        resumes: whether it continues where it paused. If not, its iterator is closed then.

    Attributes:
        latest: the last progress, with what was found so far.
        problem: why it was refused; "" if it was not.
        state: whether it runs, and if not, why.
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
        self.state: State = "paused"
        self.resumes = resumes
        self._steps, self._unwatched_seconds = steps, unwatched_seconds
        self._iterator: Iterator[Progress[Found]] | None = None
        self._queued = Future[None]()
        self._seen: dict[Visitor, float] = {}
        self._began = self._ended = time.monotonic()
        self._changed = threading.Condition()

    @property
    def running(self) -> bool:
        """Whether it finds more without being started again."""
        return self.state in RUNNING

    @property
    def seconds(self) -> float:
        """How long it has been running since its last start, with its time in the queue."""
        return (time.monotonic() if self.running else self._ended) - self._began

    def watch(self, visitor: Visitor = None) -> None:
        """Note that a page of this visitor shows it."""
        with self._changed:
            self._seen[visitor] = time.monotonic()

    def start(self, visitor: Visitor = None) -> None:
        """Run for this visitor: continue where it paused, or begin anew after it was refused."""
        self.watch(visitor)
        with self._changed:
            if self.state not in ("finished", *RUNNING):
                if self._iterator is None:
                    self.latest = None
                self.state, self.problem, self._began = "queued", "", time.monotonic()
                self._queued = _pool.submit(self._run)

    def stop(self, visitor: Visitor = None) -> None:
        """Stop it for this visitor; it runs on for the others."""
        with self._changed:
            self._seen.pop(visitor, None)
            if not self._is_wanted() and self._queued.cancel():
                self._end("paused")

    def report(self, progress: Progress[Found]) -> None:
        """Report progress within a step.

        Raises:
            JobStopped: no visitor is watching. The step must not catch it; the next start begins anew.
        """
        if not self._is_wanted():
            raise JobStopped
        self.latest = progress

    def wait(self, seconds: float) -> State:
        """Return its state when it does not run any more, or after so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self.running, seconds)
            return self.state

    def _run(self) -> None:
        state: State = "paused"
        self.state = "running"
        try:
            while self._is_wanted():
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
            state, self.problem = "refused", _UNEXPECTED
        if state != "paused" or not self.resumes:
            self._iterator = None  # outside of the lock: to end a process takes time
        with self._changed:
            if state == "paused" and self._is_wanted():  # started again meanwhile
                self._queued = _pool.submit(self._run)
            else:
                self._end(state)

    def _begun(self) -> Iterator[Progress[Found]]:
        iterator = self._iterator = self._iterator or self._steps()
        return iterator

    def _is_wanted(self) -> bool:
        now = time.monotonic()
        return any(now - seen < self._unwatched_seconds for seen in list(self._seen.values()))

    def _end(self, state: State) -> None:
        self.state, self._ended = state, time.monotonic()
        self._changed.notify_all()


class Jobs:
    """The jobs of one server; equal requests share one job. `max_jobs` are kept that do not run."""

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
            found = self._put(key, self._running(key) or job)
            found.start(visitor)
            return found

    def running(self, key: Hashable) -> Job[Any] | None:
        """Return the job of this key, if it runs."""
        with self._lock:
            return self._running(key)

    def queued(self) -> int:
        """Return how many jobs wait for their turn."""
        with self._lock:
            return sum(job.state == "queued" for job in self._jobs.values())

    def _running(self, key: Hashable) -> Job[Any] | None:
        job = self._jobs.get(key)
        return job if job is not None and job.running else None

    def _put(self, key: Hashable, job: Job[Found]) -> Job[Found]:
        self._jobs[key] = job
        self._jobs.move_to_end(key)
        resting = [key for key, other in self._jobs.items() if not other.running and other is not job]
        for oldest in resting[: max(0, len(self._jobs) - self._max_jobs)]:
            del self._jobs[oldest]
        return job


JOBS = Jobs()
"""This server's jobs."""
