"""Jobs: stopping, keeping results, and restarting."""

import threading
from collections.abc import Iterator

import pytest

from attnviz.app.server import jobs as module
from attnviz.app.server.jobs import MAX_JOBS, MAX_RUNNING, Job, Jobs
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from tests.app.shown import SECONDS, wait_until

STEPS = 7
ALL = Progress(STEPS, STEPS, STEPS * (STEPS + 1) // 2)


class Counting:
    """A computation of the sums 1, 1 + 2, …; each step waits for `allow`."""

    def __init__(self) -> None:
        self.steps = threading.Semaphore(0)
        self.begun = 0
        self.ended = 0
        self.steps_done = 0
        self.waiting = threading.Event()

    def __call__(self) -> Iterator[Progress[int]]:
        self.begun += 1
        found = 0
        try:
            for number in range(1, STEPS + 1):
                self.waiting.set()
                assert self.steps.acquire(timeout=SECONDS)
                found += number
                self.steps_done += 1
                yield Progress(number, STEPS, found)
        finally:
            self.ended += 1

    def allow(self, steps: int) -> None:
        self.steps.release(steps)


@pytest.fixture
def counting() -> Iterator[Counting]:
    counting = Counting()
    yield counting
    counting.allow(2 * STEPS)


def test_job_reports_progress_until_it_has_finished(counting: Counting) -> None:
    job = Job(counting)
    job.start()
    counting.allow(3)
    wait_until(lambda: job.latest == Progress(3, STEPS, 1 + 2 + 3))
    assert job.running
    counting.allow(STEPS - 3)
    wait_until(lambda: not job.running)
    assert (job.finished, job.latest) == (True, ALL)
    job.start()
    assert (job.running, counting.begun) == (False, 1)
    assert job.seconds == job.seconds > 0


def test_stopped_job_keeps_its_results_until_restarted(counting: Counting) -> None:
    job = Job(counting)
    job.start()
    counting.allow(2)
    wait_until(lambda: job.latest is not None and job.latest.done == 2)
    job.stop()
    assert (job.running, job.stopped, job.latest) == (False, True, Progress(2, STEPS, 3))
    job.start()
    assert not job.stopped
    counting.allow(2 * STEPS)  # enough for both runs: the first one ends after its pending step
    wait_until(lambda: counting.ended == 2 and job.finished)
    assert (job.latest, counting.begun) == (ALL, 2)
    assert counting.steps_done == 2 + 1 + STEPS


def test_job_ends_when_no_page_shows_it(counting: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(counting)
    job.start()
    assert counting.waiting.wait(SECONDS)
    monkeypatch.setattr(module, "UNWATCHED_SECONDS", -1.0)
    counting.allow(1)
    wait_until(lambda: counting.ended == 1)
    assert (job.running, job.finished, job.stopped, job.latest) == (False, False, False, None)


def test_expected_errors_are_shown_and_others_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    def too_long() -> Iterator[Progress[int]]:
        yield Progress(1, 2, 1)
        raise AttnvizError("Shorten it.")

    def broken() -> Iterator[Progress[int]]:
        yield Progress(1, 2, 1)
        raise ZeroDivisionError("secret")

    job = Job(too_long)
    for _ in range(2):  # also after a restart
        job.start()
        wait_until(lambda: not job.running)
        assert (job.problem, job.latest, job.finished) == ("Shorten it.", Progress(1, 2, 1), False)
    assert not caplog.records
    job = Job(broken)
    job.start()
    wait_until(lambda: not job.running)
    assert "unexpected" in job.problem
    assert "secret" not in job.problem
    assert "secret" in caplog.text


def test_running_jobs_are_limited_and_queued_ones_can_be_stopped() -> None:
    counts = [Counting() for _ in range(MAX_RUNNING + 1)]
    *first, last = all_jobs = [Job(count) for count in counts]
    for job in first:
        job.start()
    assert all(count.waiting.wait(SECONDS) for count in counts[:-1])
    last.start()
    assert last.queued
    last.stop()
    assert not last.running
    last.start()
    for count in counts:
        count.allow(STEPS)
    wait_until(lambda: all(job.finished for job in all_jobs))
    assert [count.begun for count in counts] == [1] * len(all_jobs)


def test_equal_requests_share_a_job_and_running_ones_are_never_evicted(counting: Counting) -> None:
    jobs = Jobs()
    running, other = jobs.find("one", counting), jobs.find("two", counting)
    running.start()
    assert jobs.find("one", counting, replace=True) is running
    assert jobs.find("two", counting, replace=True) is not other
    for number in range(MAX_JOBS):
        jobs.find(number, counting)
    assert jobs.running("one") is jobs.find("one", counting) is running
    assert jobs.find(MAX_JOBS - 1, counting) is not None
    assert len(jobs._jobs) == MAX_JOBS
