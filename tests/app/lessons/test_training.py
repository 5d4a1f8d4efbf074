"""A training run in its own process, simulated by a small script."""

import subprocess
from collections.abc import Callable, Generator

import pytest

from attnviz.app.lessons import training as training_module
from attnviz.app.lessons.training import Training, TrainingState, train
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from attnviz.trained.snapshots import line
from attnviz.trained.translator.probes import PROBES
from tests.app.lessons.conftest import FOREVER
from tests.trained.random_snapshots import translator_snapshot

TRAINING = Training("guided", 3, 500)
IGNORE_SIGTERM = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('{\"step\": 1}', flush=True)"
)


class Started(subprocess.Popen[str]):
    """A process; `latest` is the most recently started process."""

    latest: "Started"

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[call-overload]  # any arguments
        Started.latest = self


@pytest.fixture(autouse=True)
def _record_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", Started)


def training() -> Generator[Progress[TrainingState]]:
    steps = train(TRAINING)
    assert isinstance(steps, Generator)
    return steps


def test_progress_and_snapshots_are_passed_on(play: Callable[..., None]) -> None:
    early, late = translator_snapshot(0, PROBES[:1]), translator_snapshot(40, PROBES[:1])
    play("a warning", line(early), line(17), line(late), then="")
    steps = list(training())
    assert steps[0] == Progress(0, 500, TrainingState(TRAINING, ()))
    assert list(dict.fromkeys(step.done for step in steps)) == [0, 17, 40]
    (between,) = {len(step.found.snapshots) for step in steps if step.done == 17}
    assert between == 1
    assert [snapshot.measures for snapshot in steps[-1].found.snapshots] == [early.measures, late.measures]
    assert Started.latest.poll() == 0


def test_error_shows_the_last_line_of_the_process(play: Callable[..., None]) -> None:
    play("1", then="raise MemoryError('too small')")
    with pytest.raises(AttnvizError, match=r"MemoryError: too small$"):
        list(training())


@pytest.mark.parametrize("then", [FOREVER, f"{IGNORE_SIGTERM}\n{FOREVER}"])
def test_stopping_ends_the_process(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    monkeypatch.setattr(training_module, "_GRACE_SECONDS", 0.2)
    play(line(1), then=then)
    steps = training()
    assert next(step for step in steps if step.done)
    next(steps)  # yields regularly, even without new output
    assert Started.latest.poll() is None
    steps.close()
    assert Started.latest.poll() is not None


def test_command_and_environment_of_the_process(play: Callable[..., None]) -> None:
    assert TRAINING.command[1:] == ["-m", "attnviz.trained.live", "guided", "3", "500"]
    play(then="import os; print(os.environ['OMP_NUM_THREADS'], os.getcwd()); exit(1)")
    with pytest.raises(AttnvizError, match=f"1 {training_module._ROOT}$"):
        list(training())
