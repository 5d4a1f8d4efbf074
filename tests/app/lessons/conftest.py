"""What lessons compute is read-only, and live trainings only play what a training would say."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from attnviz.app.lessons.training import Training
from attnviz.app.lessons.watch_it_learn import page
from attnviz.app.server import cache
from attnviz.app.server.jobs import Jobs
from tests.app.shown import stop

FOREVER = "import time\nwhile True: time.sleep(0.05)"


def writeable(value: object) -> bool:
    """Whether an array somewhere in it can be written to."""
    parts: Iterable[object] = ()
    if isinstance(value, np.ndarray):
        return value.flags.writeable
    if isinstance(value, tuple | list):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    elif is_dataclass(value):
        parts = (getattr(value, field.name) for field in fields(value))
    return any(map(writeable, parts))


@pytest.fixture(autouse=True)
def _nobody_can_write_into_what_all_visitors_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is cached meanwhile has read-only arrays; else the page of the test fails."""
    size_of = cache.size_of

    def checked(value: object) -> int:
        assert not writeable(value), type(value)
        return size_of(value)

    monkeypatch.setattr(cache, "size_of", checked)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    """What runs on the server; in the end, nothing."""
    jobs = Jobs()
    monkeypatch.setattr(page, "JOBS", jobs)
    yield jobs
    stop(jobs)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets every training be a process that says these lines, and then goes on for ever or does this."""

    def play(*lines: str, then: str = FOREVER) -> None:
        said = "\n".join([*(f"print({line!r}, flush=True)" for line in lines), then])
        monkeypatch.setattr(Training, "command", property(lambda _: [sys.executable, "-c", said]))

    return play
