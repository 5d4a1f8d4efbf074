"""Fixtures for tests of lessons: cached arrays must be read-only, and live training is simulated."""

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
    """Return whether the value contains a writeable array."""
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
def _check_cached_arrays_are_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a test fail if its page caches a writeable array, since all visitors share the cache."""
    size_of = cache.size_of

    def checked(value: object) -> int:
        assert not writeable(value), type(value)
        return size_of(value)

    monkeypatch.setattr(cache, "size_of", checked)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    """The server's jobs, stopped after the test."""
    jobs = Jobs()
    monkeypatch.setattr(page, "JOBS", jobs)
    yield jobs
    stop(jobs)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that replaces each training run with a process that prints lines and then runs `then`."""

    def play(*lines: str, then: str = FOREVER) -> None:
        script = "\n".join([*(f"print({line!r}, flush=True)" for line in lines), then])
        monkeypatch.setattr(Training, "command", property(lambda _: [sys.executable, "-c", script]))

    return play
