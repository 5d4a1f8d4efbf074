"""Long computations: they stop, continue where they stopped, and keep what they have found."""

import threading
import time
from collections.abc import Iterator

import pytest

from attnviz.app.server.jobs import MAX_RUNNING, UNWATCHED_SECONDS, Job, Jobs
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from tests.app.shown import SECONDS, until

STEPS = 7
ALL = Progress(STEPS, STEPS, STEPS * (STEPS + 1) // 2)


class Counting:
    """Computes the sums 1, 1 + 2, …; each step waits until it is let go."""

    def __init__(self) -> None:
        self.steps = threading.Semaphore(0)
        self.begun = 0
        self.step = 0
        self.ended = False
        self.asked = threading.Event()

    def __call__(self) -> Iterator[Progress[int]]:
        self.begun += 1
        found = 0
        try:
            for number in range(1, STEPS + 1):
                self.step = number
                self.asked.set()
                assert self.steps.acquire(timeout=SECONDS)
                found += number
                yield Progress(number, STEPS, found)
        finally:
            self.ended = True

    def let_go(self, steps: int) -> None:
        self.steps.release(steps)


@pytest.fixture
def counting() -> Iterator[Counting]:
    counting = Counting()
    yield counting
    counting.let_go(STEPS)


def until_done(job: Job[int], number: int) -> Progress[int]:
    until(lambda: job.latest is not None and job.latest.done >= number)
    assert job.latest is not None
    return job.latest


# One job


def test_it_finds_more_and_more_until_it_is_finished(counting: Counting) -> None:
    job = Job(counting)
    assert job.state == "paused"
    job.start()
    counting.let_go(3)
    assert until_done(job, 3).found == 1 + 2 + 3
    assert job.wait(0) == "running"
    counting.let_go(STEPS - 3)
    assert job.wait(SECONDS) == "finished"
    assert job.latest == ALL
    seconds = job.seconds
    job.start()
    assert (job.state, counting.begun) == ("finished", 1)
    time.sleep(0.02)
    assert job.seconds == seconds > 0


@pytest.mark.parametrize("resumes", [True, False])
def test_stopped_it_goes_on_where_it_stopped_or_begins_anew(counting: Counting, resumes: bool) -> None:
    job = Job(counting, resumes=resumes)
    job.start()
    counting.let_go(2)
    until_done(job, 2)
    job.stop()
    counting.let_go(1)
    assert job.wait(SECONDS) == "paused"
    assert job.latest is not None
    assert job.latest.done in (2, 3)
    assert counting.ended is not resumes
    counting.let_go(STEPS)
    job.start()
    assert job.wait(SECONDS) == "finished"
    assert job.latest == ALL
    assert counting.begun == (1 if resumes else 2)


@pytest.mark.parametrize("resumes", [True, False])
def test_it_stops_when_nobody_watches(counting: Counting, resumes: bool) -> None:
    job = Job(counting, resumes=resumes)
    job.start()
    assert counting.asked.wait(SECONDS)
    job._seen[None] -= UNWATCHED_SECONDS
    counting.let_go(1)
    assert job.wait(SECONDS) == "paused"
    assert counting.ended is not resumes
    counting.asked.clear()
    job.start()
    assert counting.asked.wait(SECONDS)
    job._seen[None] -= UNWATCHED_SECONDS
    job.watch()
    counting.let_go(STEPS)
    assert job.wait(SECONDS) == "finished"
    assert job.latest == ALL


def test_it_goes_on_as_long_as_somebody_wants_it(counting: Counting) -> None:
    job = Job(counting)
    one, another = ("here", 1), ("here", 2)
    job.start(one)
    job.start(another)
    assert counting.asked.wait(SECONDS)
    job.stop(one)
    job.stop(one)
    counting.let_go(2)
    assert until_done(job, 2).found == 3
    assert job.state == "running"
    job.stop(another)
    counting.let_go(1)
    assert job.wait(SECONDS) == "paused"


def test_why_it_was_refused_is_passed_on_and_another_fault_is_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def too_long() -> Iterator[Progress[int]]:
        yield Progress(1, 2, 1)
        raise AttnvizError("Shorten it.")

    def broken() -> Iterator[Progress[int]]:
        yield Progress(1, 2, 1)
        raise ZeroDivisionError("secret")

    jobs = Jobs()
    job = jobs.find("one", too_long)
    for _ in range(2):  # for everybody, and when it is started again
        job.start()
        assert job.wait(SECONDS) == "refused"
        assert jobs.find("one", too_long) is job
        assert (job.problem, job.latest) == ("Shorten it.", Progress(1, 2, 1))
    assert not caplog.records
    job = Job(broken)
    job.start()
    assert job.wait(SECONDS) == "refused"
    assert "unexpected" in job.problem
    assert "secret" not in job.problem
    assert "secret" in caplog.text


# Several jobs


def test_so_many_run_at_once_and_one_that_is_queued_can_be_stopped() -> None:
    counts = [Counting() for _ in range(MAX_RUNNING + 1)]
    *first, last = jobs = [Job(count) for count in counts]
    for job in first:
        job.start()
    assert all(count.asked.wait(SECONDS) for count in counts[:-1])
    last.start()
    assert last.wait(0.05) == "queued"
    last.stop()
    assert last.state == "paused"
    last.start()
    for count in counts:
        count.let_go(STEPS)
    assert [job.wait(SECONDS) for job in jobs] == ["finished"] * len(jobs)
    assert [job.latest for job in jobs] == [ALL] * len(jobs)
    assert [count.begun for count in counts] == [1] * len(jobs)


# The jobs of a server


def test_who_asks_for_the_same_gets_the_same_and_the_oldest_goes_first(counting: Counting) -> None:
    jobs = Jobs(max_jobs=2)
    one = jobs.find("one", counting)
    assert jobs.find("one", counting) is one
    two = jobs.find("two", counting)
    jobs.find("one", counting)
    jobs.find("three", counting)
    assert jobs.find("one", counting) is one
    assert jobs.find("two", counting) is not two
