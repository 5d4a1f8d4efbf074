"""How far a command is, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from attnviz.capture.loading import Tell


@contextmanager
def progress(*, log: bool = False) -> Iterator[Tell]:
    """Gives a function that is told what is being done, and how much of it is done, 0 to 1.

    In a terminal it draws a bar, which is wiped away in the end. Elsewhere it says nothing or, with `log`,
    writes a line for every tenth.
    """
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (BarColumn(), TextColumn("{task.description}", markup=False))
        drawing = Progress(
            *columns,
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with drawing:
            bar = drawing.add_task("", total=1.0)
            yield lambda doing, done: drawing.update(bar, description=doing, completed=done)
        return
    tenths = 0

    def write_line(doing: str, done: float) -> None:
        nonlocal tenths
        if log and int(10 * done + 1e-9) > tenths:
            tenths = int(10 * done + 1e-9)
            sys.stderr.write(f"{doing}\n")

    yield write_line
