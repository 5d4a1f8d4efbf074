"""A training in a process of its own, which ends with it: a small process stands in for the real one."""

import subprocess
import sys
from collections.abc import Generator

import pytest

from attnviz.app.learn import training as compute
from attnviz.app.learn.training import Learned, Training, train
from attnviz.app.server.jobs import Job
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from attnviz.trained.live import step_line
from attnviz.trained.translator import live
from attnviz.trained.translator.learning import PROBES
from tests.trained.translator.steps import snapshot

TRAINING = Training("taught", 3, 500)
FOREVER = "import time\nwhile True: time.sleep(0.05)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('{\"step\": 1}', flush=True)"


class Started(subprocess.Popen[str]):
    """The process that was started last."""

    latest: "Started"

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[call-overload]  # as it was called
        Started.latest = self


@pytest.fixture(autouse=True)
def _noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", Started)


def play(monkeypatch: pytest.MonkeyPatch, *lines: str, then: str = "") -> Generator[Progress[Learned]]:
    """Train with a process that says these lines, and then does something."""
    code = "\n".join([*(f"print({line!r}, flush=True)" for line in lines), then])
    monkeypatch.setattr(Training, "command", property(lambda _: [sys.executable, "-c", code]))
    steps = train(TRAINING)
    assert isinstance(steps, Generator)
    return steps


def test_what_it_tells_is_passed_on_and_it_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    early, late = snapshot(0, PROBES[:1]), snapshot(40, PROBES[:1])
    lines = ["a warning", live.snapshot_line(early), step_line(17), live.snapshot_line(late)]
    steps = list(play(monkeypatch, *lines))
    assert steps[0] == Progress(0, 500, Learned(TRAINING, ()))
    assert list(dict.fromkeys(step.done for step in steps)) == [0, 17, 40]
    (between,) = {len(step.found.snapshots) for step in steps if step.done == 17}
    assert between == 1
    assert [told.measures for told in steps[-1].found.snapshots] == [early.measures, late.measures]
    assert Started.latest.poll() == 0


def test_a_fault_is_told_in_its_own_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AttnvizError, match=r"MemoryError: too small$"):
        list(play(monkeypatch, "1", then="raise MemoryError('too small')"))


@pytest.mark.parametrize("then", [FOREVER, f"{DEAF}\n{FOREVER}"])
def test_when_it_is_stopped_the_process_has_ended(monkeypatch: pytest.MonkeyPatch, then: str) -> None:
    monkeypatch.setattr(compute, "_GRACE_SECONDS", 0.2)
    steps = play(monkeypatch, step_line(1), then=then)
    assert next(step for step in steps if step.done)
    next(steps)  # now and then, even if there is nothing new
    assert Started.latest.poll() is None
    steps.close()
    assert Started.latest.poll() is not None


def test_left_alone_its_job_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, then=FOREVER)
    job = Job(lambda: train(TRAINING), unwatched_seconds=0.3, resumes=False)
    job.start()
    assert job.wait(30) == "unwatched"
    assert Started.latest.poll() is not None


def test_the_command_is_ours_and_one_core_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ["--variant=taught", "--seed=3", "--steps=500"]
    assert TRAINING.command[1:] == ["-m", "attnviz", "live", *options]
    then = "import os; print(os.environ['OMP_NUM_THREADS'], os.getcwd()); exit(1)"
    with pytest.raises(AttnvizError, match=f"1 {compute._ROOT}$"):
        list(play(monkeypatch, then=then))
