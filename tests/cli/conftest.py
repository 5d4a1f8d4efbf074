"""Fixtures that run the command line and return what it prints."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import pytest

from attnviz import __main__ as command_line


class Result(NamedTuple):
    """The exit status of a command, its standard output, and its standard error."""

    status: int
    out: str
    err: str


Run = Callable[..., Result]
Output = Callable[..., str]
ClosedPipe = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command."""

    def run(*arguments: object) -> Result:
        status = command_line.main([str(argument) for argument in arguments])
        return Result(status, *capsys.readouterr())

    return run


@pytest.fixture
def output_of(run: Run) -> Output:
    """Return a function that runs a command, which must succeed, and returns its output."""

    def output_of(*arguments: object) -> str:
        result = run(*arguments)
        assert result.status == 0, result.err
        return result.out

    return output_of


@pytest.fixture
def error_of(run: Run) -> Output:
    """Return a function that runs a command, which must fail, and returns its error message."""

    def error_of(*arguments: object) -> str:
        result = run(*arguments)
        assert (result.status, result.out) == (2, "")
        assert "Traceback" not in result.err
        return result.err

    return error_of


@pytest.fixture
def closed_pipe(monkeypatch: pytest.MonkeyPatch) -> ClosedPipe:
    """Return a function whose context redirects standard output to a pipe with a closed read end."""

    @contextmanager
    def closed() -> Iterator[None]:
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w", 1) as pipe, monkeypatch.context() as piped:
            piped.setattr("sys.stdout", pipe)
            yield

    return closed
