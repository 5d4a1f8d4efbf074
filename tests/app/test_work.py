"""Long computations behind a page: they stop, go on where they stopped, and keep what they have found."""

import threading
import time
from collections.abc import Iterator

import pytest

from attnviz.app import work as work_module
from attnviz.app.work import Work, Works
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress

SECONDS = 30
STEPS = 7


class Counting:
    """Computes the sums 1, 1 + 2, …; each step waits until it is let go."""

    def __init__(self) -> None:
        self.steps = threading.Semaphore(0)
        self.begun = 0
        self.ended = False
        self.asked = threading.Event()
        self.threads: list[threading.Thread] = []

    def __call__(self) -> Iterator[Progress[int]]:
        self.begun += 1
        found = 0
        try:
            for number in range(1, STEPS + 1):
                self.threads.append(threading.current_thread())
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


def until_done(work: Work[int], number: int) -> Progress[int]:
    end = time.monotonic() + SECONDS
    while work.latest is None or work.latest.done < number:
        assert time.monotonic() < end, "it did not come so far"
        time.sleep(0.005)
    return work.latest


def test_it_finds_more_and_more_until_it_is_finished(counting: Counting) -> None:
    work = Work(counting)
    work.start()
    counting.let_go(3)
    assert until_done(work, 3).found == 1 + 2 + 3
    assert work.wait(0) == "running"
    assert not until_done(work, 3).finished
    counting.let_go(STEPS - 3)
    assert work.wait(SECONDS) == "finished"
    assert work.latest == Progress(STEPS, STEPS, STEPS * (STEPS + 1) // 2)
    assert work.latest.finished
    work.start()
    assert work.state == "finished"
    assert counting.begun == 1


def test_what_was_found_stays_when_it_is_stopped_and_it_goes_on_there(counting: Counting) -> None:
    work = Work(counting)
    work.start()
    counting.let_go(2)
    until_done(work, 2)
    work.stop()
    counting.let_go(1)
    assert work.wait(SECONDS) == "stopped"
    assert work.latest is not None
    assert work.latest.done in (2, 3)
    work.start()
    counting.let_go(STEPS)
    assert work.wait(SECONDS) == "finished"
    assert work.latest.found == STEPS * (STEPS + 1) // 2
    assert counting.begun == 1


def test_it_stops_when_nobody_watches(counting: Counting) -> None:
    work = Work(counting, patience=0.05)
    work.start()
    time.sleep(0.1)
    counting.let_go(1)
    assert work.wait(SECONDS) == "left alone"
    work.start()
    counting.let_go(STEPS)
    for _ in range(SECONDS * 100):
        work.watched()
        if work.wait(0.01) == "finished":
            break
    assert work.latest == Progress(STEPS, STEPS, STEPS * (STEPS + 1) // 2)


def test_only_one_runs_at_a_time_and_one_that_waits_can_be_stopped() -> None:
    first_counting, second_counting = Counting(), Counting()
    first, second = Work(first_counting), Work(second_counting)
    first.start()
    first_counting.let_go(1)
    until_done(first, 1)
    second.start()
    second_counting.let_go(STEPS)
    time.sleep(0.05)
    assert second.state == "waiting"
    second.stop()
    assert second.wait(SECONDS) == "stopped"
    third_counting = Counting()
    third = Work(third_counting)
    third.start()
    third_counting.let_go(STEPS)
    first_counting.let_go(STEPS)
    assert first.wait(SECONDS) == "finished"
    assert third.wait(SECONDS) == "finished"
    assert second.latest is None
    second.start()
    assert second.wait(SECONDS) == "finished"


class Leaving(work_module._Turns):
    """The turns of works, of which one takes its time when it goes away."""

    def __init__(self) -> None:
        super().__init__()
        self.who: Work[int] | None = None
        self.leaves, self.may_leave = threading.Event(), threading.Event()

    def give(self) -> None:
        if self.who is not None and self.who.state in ("stopped", "refused") and not self.leaves.is_set():
            self.leaves.set()
            assert self.may_leave.wait(SECONDS)
        super().give()


@pytest.fixture
def leaving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Leaving]:
    leaving = Leaving()
    monkeypatch.setattr(work_module, "_turns", leaving)
    yield leaving
    leaving.may_leave.set()


def test_stopped_and_started_at_once_it_keeps_its_turn_to_itself(
    leaving: Leaving, counting: Counting
) -> None:
    other_counting = Counting()
    other_counting.let_go(STEPS)
    work, other = Work(counting), Work(other_counting)
    leaving.who = work
    work.start()
    assert counting.asked.wait(SECONDS)
    counting.asked.clear()
    work.stop()
    counting.let_go(1)
    assert leaving.leaves.wait(SECONDS)
    work.start()
    assert counting.asked.wait(SECONDS)  # the new run is in the midst of a step
    other.start()
    leaving.may_leave.set()
    assert not other_counting.asked.wait(0.2)
    counting.let_go(STEPS)
    assert work.wait(SECONDS) == other.wait(SECONDS) == "finished"
    assert work.latest == Progress(STEPS, STEPS, STEPS * (STEPS + 1) // 2)
    assert counting.begun == 1


def test_what_was_refused_begins_anew_at_once_and_only_in_one_thread(
    leaving: Leaving, counting: Counting
) -> None:
    def refused_at_first() -> Iterator[Progress[int]]:
        if not counting.begun:
            counting.begun += 1
            yield Progress(5, STEPS, 5)
            raise AttnvizError("Shorten it.")
        yield from counting()

    work = Work(refused_at_first)
    leaving.who = work
    work.start()
    assert leaving.leaves.wait(SECONDS)
    assert work.latest is not None
    work.start()
    assert work.wait(0) == "waiting"
    leaving.may_leave.set()
    counting.let_go(STEPS)
    assert work.wait(SECONDS) == "finished"
    assert work.latest == Progress(STEPS, STEPS, STEPS * (STEPS + 1) // 2)
    assert len(set(counting.threads)) == 1


def test_works_take_turns_step_by_step() -> None:
    order: list[str] = []

    def named(name: str, begin: threading.Event) -> Iterator[Progress[None]]:
        assert begin.wait(SECONDS)
        for number in range(1, 6):
            order.append(name)
            yield Progress(number, 5, None)

    begin = threading.Event()
    works = [Work(lambda name=name: named(name, begin)) for name in "abc"]  # type: ignore[misc]  # of lambdas
    for work in works:
        work.start()
        while work.state == "not begun":
            time.sleep(0.001)
    time.sleep(0.1)  # all stand in the queue
    begin.set()
    assert [work.wait(SECONDS) for work in works] == ["finished"] * 3
    assert all(set(order[start : start + 3]) == set("abc") for start in range(0, 15, 3))


def test_a_work_that_runs_is_not_pushed_out() -> None:
    works = Works(most=1)
    counting = Counting()
    running = works.find("running", counting)
    running.start()
    for name in range(5):
        works.find(name, Counting())
    assert works.find("running", counting) is running
    counting.let_go(STEPS)
    assert running.wait(SECONDS) == "finished"
    works.find("next", Counting())
    assert works.find("running", counting) is not running


def test_a_kind_word_is_passed_on_and_another_fault_is_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def too_long() -> Iterator[Progress[int]]:
        yield Progress(1, 2, 1)
        raise AttnvizError("Shorten it.")

    def broken() -> Iterator[Progress[int]]:
        yield Progress(1, 2, 1)
        raise ZeroDivisionError("secret")

    work = Work(too_long)
    work.start()
    assert work.wait(SECONDS) == "refused"
    assert (work.problem, work.latest) == ("Shorten it.", Progress(1, 2, 1))
    assert not caplog.records
    work = Work(broken)
    work.start()
    assert work.wait(SECONDS) == "refused"
    assert "secret" not in work.problem
    assert "secret" in caplog.text


def test_who_asks_for_the_same_gets_the_same_and_the_oldest_goes_first(counting: Counting) -> None:
    works = Works(most=2)
    one = works.find("one", counting)
    assert works.find("one", counting) is one
    two = works.find("two", counting)
    works.find("one", counting)
    works.find("three", counting)
    assert works.find("one", counting) is one
    assert works.find("two", counting) is not two


def test_what_was_refused_stays_so_for_everybody_until_it_is_started_again() -> None:
    begun = 0

    def refused() -> Iterator[Progress[int]]:
        nonlocal begun
        begun += 1
        yield Progress(1, 2, begun)
        raise AttnvizError("Shorten it.")

    works = Works()
    work = works.find("one", refused)
    for attempt in (1, 2):
        work.start()
        assert work.wait(SECONDS) == "refused"
        assert works.find("one", refused) is work
        assert (work.problem, work.latest) == ("Shorten it.", Progress(1, 2, attempt))


def test_what_was_given_back_begins_anew(counting: Counting) -> None:
    work = Work(counting)
    work.start()
    counting.let_go(1)
    until_done(work, 1)
    work.stop()
    counting.let_go(1)
    work.end(SECONDS)
    assert counting.ended
    counting.let_go(STEPS)
    work.start()
    assert work.wait(SECONDS) == "finished"
    assert work.latest == Progress(STEPS, STEPS, STEPS * (STEPS + 1) // 2)
    assert counting.begun == 2


def test_a_step_that_takes_too_long_is_not_awaited_and_all_is_given_back_after_it(counting: Counting) -> None:
    work = Work(counting)
    work.start()
    assert counting.asked.wait(SECONDS)
    work.end(0.01)
    assert not counting.ended
    counting.let_go(1)
    assert work.wait(SECONDS) == "stopped"
    assert counting.ended


def test_when_the_server_ends_the_step_that_runs_is_awaited_and_all_is_given_back(counting: Counting) -> None:
    works = Works()
    work = works.find("one", counting)
    work.start()
    counting.let_go(2)
    until_done(work, 2)
    last_step = threading.Timer(0.1, counting.let_go, [1])
    last_step.start()
    works.close()
    assert work.state == "stopped"
    assert work.latest == Progress(3, STEPS, 1 + 2 + 3)
    assert counting.ended
    last_step.join()
