"""Long computations of pages: they run in a thread pool, report progress and can be stopped."""

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
"""Maximum number of jobs that run concurrently; others are queued."""

MAX_JOBS = 16
"""Maximum number of stored jobs that are not running."""

UNWATCHED_SECONDS = 10.0
"""Time that a job continues after the last page that shows it was closed."""

_UNEXPECTED = "The computation failed for an unexpected reason. The log of this server has the details."

_pool = ThreadPoolExecutor(MAX_RUNNING, "job")

Visitor = Hashable
"""A session; None outside of one."""


class JobStopped(Exception):
    """Raised by `Job.report` in a job that should stop."""


class Job(Generic[Found]):
    """One long computation; its methods are thread-safe.

    It pauses after the current step when all its visitors have called `stop` or closed their pages.

    Args:
        steps: Starts the computation. Its steps can run in different threads, so a step must not hold a lock
            or a context when it ends.
        unwatched_seconds: Time that it continues after the last call of `watch`.
        resumes: Continue after a pause; otherwise a pause closes the iterator.

    Attributes:
        latest: Latest progress, with the results so far.
        problem: Reason of a refusal; "" if not refused.
        state: State of the job.
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
        """Whether the job is queued or running."""
        return self.state in RUNNING

    @property
    def seconds(self) -> float:
        """Running time since the last start, including time in the queue."""
        return (time.monotonic() if self.running else self._ended) - self._began

    def watch(self, visitor: Visitor = None) -> None:
        """Record that a page of this visitor shows the job."""
        with self._changed:
            self._seen[visitor] = time.monotonic()

    def start(self, visitor: Visitor = None) -> None:
        """Run for this visitor: continue after a pause, or restart after a refusal."""
        self.watch(visitor)
        with self._changed:
            if self.state not in ("finished", *RUNNING):
                if self._iterator is None:
                    self.latest = None
                self.state, self.problem, self._began = "queued", "", time.monotonic()
                self._queued = _pool.submit(self._run)

    def stop(self, visitor: Visitor = None) -> None:
        """Stop for this visitor; the job continues for others."""
        with self._changed:
            self._seen.pop(visitor, None)
            if not self._is_wanted() and self._queued.cancel():
                self._end("paused")

    def report(self, progress: Progress[Found]) -> None:
        """Report progress within a step.

        Raises:
            JobStopped: no visitor is watching. The step must not catch it; the next start restarts the job.
        """
        if not self._is_wanted():
            raise JobStopped
        self.latest = progress

    def wait(self, seconds: float) -> State:
        """Wait until the job no longer runs, or for a timeout; return its state."""
        with self._changed:
            self._changed.wait_for(lambda: not self.running, seconds)
            return self.state

    def _run(self) -> None:
        state: State = "paused"
        self.state = "running"
        try:
            while self._is_wanted():
                # No variable references the iterator, so that deleting the attribute closes a generator.
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
            self._iterator = None  # outside the lock: ending a process is slow
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
    """The jobs of one server; equal requests share one job. Keeps `max_jobs` that are not running."""

    def __init__(self, max_jobs: int = MAX_JOBS) -> None:
        self._max_jobs = max_jobs
        self._lock = threading.Lock()
        self._jobs: OrderedDict[Hashable, Job[Any]] = OrderedDict()

    def find(self, key: Hashable, steps: Callable[[], Iterator[Progress[Found]]]) -> Job[Found]:
        """Return the job with this key, without starting it.

        Args:
            key: Identifies the computation with all its arguments; for a long text, by its hash.
            steps: Starts the computation.
        """
        with self._lock:
            return self._put(key, self._jobs.get(key) or Job(steps))

    def begin(self, key: Hashable, job: Job[Found], visitor: Visitor = None) -> Job[Found]:
        """Return the running job with this key, or replace it with this job; start it for this visitor."""
        with self._lock:
            found = self._put(key, self._running(key) or job)
            found.start(visitor)
            return found

    def running(self, key: Hashable) -> Job[Any] | None:
        """Return the job with this key, if it is running."""
        with self._lock:
            return self._running(key)

    def queued(self) -> int:
        """Return the number of queued jobs."""
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
