"""Models that visitors open: each is loaded once for everybody."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from math import inf

from attnviz.app import warm_up
from attnviz.app.jobs import JOBS, Job, Lane
from attnviz.capture import loading
from attnviz.experiments.progress import Progress

_OPENING = Lane(8)  # `loading` lets one download and one load in at a time


def opening(name: str, visitor: Hashable) -> Job[str]:
    """Begin to open a model, or join those who wait for it; what the job finds is what it does at the moment.

    It goes on when the page that started it is closed, and stops early only when all who wanted it have said
    so.
    """
    job: Job[str] = Job(lambda: _steps(name, job.report), lane=_OPENING, patience=inf, resumes=False)
    return JOBS.begin(("opening", name), job, visitor)


def _steps(name: str, report: Callable[[Progress[str]], None]) -> Iterator[Progress[str]]:
    """Bring a model into memory, in one long step, and tune the server for it."""
    loading.open_model(name, lambda doing, done: report(Progress(round(100 * done), 100, doing)))
    warm_up.settle()
    yield from ()
