"""Long computations for pages: they run in a thread pool, report progress and can be stopped."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress

Found = TypeVar("Found")

MAX_RUNNING = 2
"""Maximum number of jobs that run concurrently; others are queued."""

MAX_JOBS = 16
"""Maximum number of stored jobs, unless more jobs are running."""

UNWATCHED_SECONDS = 90.0
"""Time for which a job continues when no page shows it; browsers run a hidden tab's timers once a minute."""

_UNEXPECTED = "The computation failed for an unexpected reason. The server’s log has the details."

_pool = ThreadPoolExecutor(MAX_RUNNING, "job")


class JobStopped(Exception):
    """Raised by `Job.report` in a job that should stop."""


class Job(Generic[Found]):
    """One long computation, shared by all pages that show it; its methods are thread-safe.

    If a visitor stops it, its results so far are kept. If no page has shown it for `UNWATCHED_SECONDS`, it
    ends without results. In both cases, `start` runs it from the beginning.

    Args:
        steps: Generator function that runs the computation and yields its progress.

    Attributes:
        latest: Latest progress, with the results so far.
        problem: Error message; "" for none.
        finished: True if it has run to the end.
        stopped: True if a visitor has stopped it.
    """

    def __init__(self, steps: Callable[[], Iterator[Progress[Found]]]) -> None:
        self.latest: Progress[Found] | None = None
        self.problem = ""
        self.finished = self.stopped = False
        self._steps = steps
        self._run: Future[None] | None = None
        self._ending = threading.Event()  # set when the current run should end
        self._lock = threading.Lock()
        self._began = self._ended = self._seen = time.monotonic()

    @property
    def running(self) -> bool:
        """True if the job is queued or running."""
        return self._run is not None and not self._run.done() and not self._ending.is_set()

    @property
    def queued(self) -> bool:
        """True if the job is waiting for a thread."""
        return self.running and self._run is not None and not self._run.running()

    @property
    def seconds(self) -> float:
        """Seconds from the last start until the end of the run, or until now; includes time in the queue."""
        return (time.monotonic() if self.running else self._ended) - self._began

    def watch(self) -> None:
        """Record that a page shows the job."""
        self._seen = time.monotonic()

    def start(self) -> None:
        """Run from the beginning, unless the job is running or has finished."""
        self.watch()
        with self._lock:
            if not self.running and not self.finished:
                self.latest, self.problem, self.stopped = None, "", False
                self._began, self._ending = time.monotonic(), threading.Event()
                self._run = _pool.submit(self._work, self._ending)

    def stop(self) -> None:
        """Stop after the current step; the results so far are kept."""
        self._ended, self.stopped = time.monotonic(), True
        self._ending.set()
        if self._run:
            self._run.cancel()

    def report(self, progress: Progress[Found]) -> None:
        """Record progress; can also be called within a step.

        Raises:
            JobStopped: the job should stop; the step must not catch it.
        """
        if time.monotonic() - self._seen > UNWATCHED_SECONDS:
            self.latest = None
            self._ending.set()
        if self._ending.is_set():
            raise JobStopped
        self.latest = progress

    def _work(self, ending: threading.Event) -> None:
        try:
            for progress in self._steps():
                if ending.is_set():
                    return
                self.report(progress)
            self.finished = True
        except JobStopped:
            pass
        except AttnvizError as error:
            self.problem = str(error)
        except Exception:
            logging.getLogger(__name__).exception("A long computation failed.")
            self.problem = _UNEXPECTED
        finally:
            self._ended = time.monotonic()


class Jobs:
    """The jobs of one server; equal requests share one job. Running jobs are never removed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: OrderedDict[Hashable, Job[Any]] = OrderedDict()

    def find(
        self, key: Hashable, steps: Callable[[], Iterator[Progress[Found]]], *, replace: bool = False
    ) -> Job[Found]:
        """Return the job with this key; create it if necessary, but do not start it.

        Args:
            key: Identifies the computation and all its arguments; for a long text, use its hash.
            steps: As for `Job`.
            replace: Create a new job if the existing one is not running.
        """
        with self._lock:
            found = self._jobs.pop(key, None)
            if found is None or (replace and not found.running):
                found = Job(steps)
            idle = [key for key, job in self._jobs.items() if not job.running]
            for oldest in idle[: max(0, len(self._jobs) + 1 - MAX_JOBS)]:
                del self._jobs[oldest]
            self._jobs[key] = found
            return found

    def running(self, key: Hashable) -> Job[Any] | None:
        """Return the job with this key, if it is running."""
        job = self._jobs.get(key)
        return job if job and job.running else None

    def queued(self) -> int:
        """Return the number of queued jobs."""
        return sum(job.queued for job in list(self._jobs.values()))


JOBS = Jobs()
"""This server's jobs."""
