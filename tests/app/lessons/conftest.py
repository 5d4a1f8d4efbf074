"""Live trainings that only play what a training would say."""

import sys
from collections.abc import Callable, Iterator

import pytest

from attnviz.app.lessons.training import Training
from attnviz.app.lessons.watch_it_learn import page
from attnviz.app.server.jobs import Jobs
from tests.app.shown import stop

FOREVER = "import time\nwhile True: time.sleep(0.05)"


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    """What runs on the server; in the end, nothing."""
    jobs = Jobs()
    monkeypatch.setattr(page, "JOBS", jobs)
    yield jobs
    stop(jobs)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets every training be a process that says these lines, and goes on for ever."""

    def play(*lines: str) -> None:
        said = "\n".join([*(f"print({line!r}, flush=True)" for line in lines), FOREVER])
        monkeypatch.setattr(Training, "command", property(lambda _: [sys.executable, "-c", said]))

    return play
