"""One live training at a time, ended by whatever ends it: a small process stands in for the real one."""

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from attnviz.app import live_training
from attnviz.app.live_training import OneAtATime, Training, Wish
from attnviz.trained.translator import live
from attnviz.trained.translator.learning import PROBES
from tests.trained.translator.steps import snapshot

WISH = Wish("taught", 3, 500)
FOREVER = "import time\nwhile True: time.sleep(0.05)"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def telling(*lines: str, then: str = "") -> list[str]:
    return python("\n".join([*(f"print({line!r}, flush=True)" for line in lines), then]))


def wait_for(happened: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.fixture
def place() -> Iterator[OneAtATime]:
    place = OneAtATime()
    yield place
    if place.running:
        place.running.stop()


def lives(training: Training) -> bool:
    return training._process.poll() is None


def state(training: Training) -> str:
    return training.state


def test_what_it_tells_is_kept_and_it_ends_well() -> None:
    early, late = snapshot(0, PROBES[:1]), snapshot(40, PROBES[:1])
    lines = [live.snapshot_line(early), live.step_line(17), live.snapshot_line(late)]
    training = Training(WISH, telling("a warning", *lines))
    wait_for(lambda: state(training) == "finished")
    assert [told.step for told in training.snapshots] == [0, 40]
    assert training.snapshots[1].measures == late.measures
    assert training.step == 40
    seconds = training.seconds
    time.sleep(0.02)
    assert training.seconds == seconds > 0


def test_the_step_is_known_between_two_snapshots() -> None:
    training = Training(
        WISH, telling(live.snapshot_line(snapshot(0, PROBES[:1])), live.step_line(17), then=FOREVER)
    )
    wait_for(lambda: training.step == 17)
    assert state(training) == "running"
    training.stop()
    assert state(training) == "stopped"
    assert not lives(training)


def test_a_fault_is_told_in_its_own_last_words() -> None:
    training = Training(WISH, python("print(1, flush=True); raise MemoryError('too small')"))
    wait_for(lambda: state(training) != "running")
    assert state(training) == "failed"
    assert training.problem == "MemoryError: too small"


def test_only_one_runs_at_a_time(place: OneAtATime) -> None:
    first = place.start(WISH, python(FOREVER))
    assert first
    assert place.running is first
    assert place.start(WISH, python(FOREVER)) is None
    first.stop()
    assert not place.running
    second = place.start(WISH, python(FOREVER))
    assert second is place.running is not first


def test_many_who_start_at_once_get_one_training(place: OneAtATime) -> None:
    with ThreadPoolExecutor(8) as visitors:
        started = list(visitors.map(lambda _: place.start(WISH, python(FOREVER)), range(8)))
    assert sum(training is not None for training in started) == 1


def test_when_nobody_watches_any_more_the_process_ends() -> None:
    training = Training(WISH, python(FOREVER), patience=0.4)
    for _ in range(8):
        time.sleep(0.1)
        training.watched()
    assert lives(training)
    wait_for(lambda: state(training) == "left alone")
    assert not lives(training)


def test_a_process_that_does_not_listen_is_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_training, "_GRACE_SECONDS", 0.2)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)"
    training = Training(WISH, python(f"{deaf}\n{FOREVER}"))
    wait_for(lambda: training.problem == "ready")
    training.stop()
    assert state(training) == "stopped"
    assert not lives(training)


def test_the_command_is_ours_and_one_core_is_enough() -> None:
    assert WISH.command[1:] == ["-m", "attnviz", "live", "--variant=taught", "--seed=3", "--steps=500"]
    training = Training(WISH, python("import os; print(os.environ['OMP_NUM_THREADS'], os.getcwd())"))
    wait_for(lambda: state(training) == "finished")
    assert training.problem == f"1 {live_training._ROOT}"


@pytest.mark.parametrize(
    ("value", "off"), [("off", True), (" OFF ", True), ("0", True), ("on", False), ("", False), (None, False)]
)
def test_an_operator_can_switch_it_off(monkeypatch: pytest.MonkeyPatch, value: str | None, off: bool) -> None:
    monkeypatch.delenv(live_training.OFF, raising=False)
    if value is not None:
        monkeypatch.setenv(live_training.OFF, value)
    assert live_training.switched_off() is off
