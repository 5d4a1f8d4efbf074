"""The command line as somebody uses it: what is asked for, and what is answered."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import pytest

from attnviz import __main__ as command_line


class Answer(NamedTuple):
    """A command's exit status, and what it wrote to its output and to its error output."""

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
    """Run a command that works, and return what it says."""

    def say(*arguments: object) -> str:
        answer = run(*arguments)
        assert answer.status == 0, answer.err
        return answer.out

    return say


@pytest.fixture
def refuse(run: Run) -> Say:
    """Run a command that cannot do what is asked, and return what it says of that."""

    def refuse(*arguments: object) -> str:
        answer = run(*arguments)
        assert (answer.status, answer.out) == (2, "")
        assert "Traceback" not in answer.err
        return answer.err

    return refuse


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Unread:
    """Meanwhile, whoever read the output has stopped reading."""

    @contextmanager
    def closed() -> Iterator[None]:
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w", 1) as pipe, monkeypatch.context() as piped:
            piped.setattr("sys.stdout", pipe)
            yield

    return closed
