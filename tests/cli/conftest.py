"""Fixtures that run the command line and return what it prints."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import pytest

from attnviz import __main__ as command_line


class Answer(NamedTuple):
    """The exit status of a command, its standard output, and its standard error."""

    status: int
    out: str
    err: str


Run = Callable[..., Answer]
Say = Callable[..., str]
Unread = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command."""

    def run(*arguments: object) -> Answer:
        status = command_line.main([str(argument) for argument in arguments])
        return Answer(status, *capsys.readouterr())

    return run


@pytest.fixture
def say(run: Run) -> Say:
    """Run a command that must succeed, and return its output."""

    def say(*arguments: object) -> str:
        answer = run(*arguments)
        assert answer.status == 0, answer.err
        return answer.out

    return say


@pytest.fixture
def refuse(run: Run) -> Say:
    """Run a command that must fail, and return its error message."""

    def refuse(*arguments: object) -> str:
        answer = run(*arguments)
        assert (answer.status, answer.out) == (2, "")
        assert "Traceback" not in answer.err
        return answer.err

    return refuse


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Unread:
    """Return a context manager in which standard output is a pipe that nobody reads."""

    @contextmanager
    def closed() -> Iterator[None]:
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w", 1) as pipe, monkeypatch.context() as piped:
            piped.setattr("sys.stdout", pipe)
            yield

    return closed
