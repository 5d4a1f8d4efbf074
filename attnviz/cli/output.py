"""Output of commands: tables, progress, and checks of the output file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from attnviz import text
from attnviz.analysis.display_tokens import visible_text
from attnviz.analysis.table import Cells, csv_text
from attnviz.atomic_file import atomic_file
from attnviz.capture.loading import OnProgress
from attnviz.errors import AttnvizError
from attnviz.experiments.sentences import SkippedSentence

MAX_LISTED = 3
"""Maximum number of skipped sentences to list."""

TableFile = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Output file for the complete table (.csv).")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print only the complete table, as JSON with one object per row. Layers and heads count "
        "from 1, fractions are between 0 and 1, and empty cells are null.",
    ),
]


def check_out(out: Path | None, force: bool) -> None:
    """Check that the output file can be written, before any slow work.

    Raises:
        AttnvizError: the folder is missing, `out` is a folder, or the file exists and `force` is False.
    """
    if out is None:
        return
    if not out.parent.is_dir():
        raise AttnvizError(f"There is no folder {out.parent}. Create it, or choose another --out.")
    if out.is_dir():
        raise AttnvizError(f"{out} is a folder. Choose a file name for --out.")
    if out.exists() and not force:
        raise AttnvizError(f"{out} already exists. Choose another --out, or use --force to overwrite it.")


def write_table(file: Path, header: Sequence[str], rows: Iterable[Cells]) -> None:
    """Write a CSV table.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.
    """
    with atomic_file(file) as opened:
        opened.write(csv_text(header, rows).encode())


def print_output(
    text_lines: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    as_json: bool,
    notes: Iterable[str] = (),
    out: Path | None = None,
) -> None:
    """Print the text or, with `as_json`, only the table.

    Args:
        text_lines: The table and further lines, as text.
        header, rows: The table; an empty cell becomes null.
        out: File for the table, written before anything is printed, because standard output may be closed.
        notes: Lines of `text_lines` that are not part of the table, such as skipped sentences; with JSON,
            they are printed to standard error.

    Raises:
        OSError: the file cannot be written, or standard output is closed.
    """
    rows = list(rows)
    if out is not None:
        write_table(out, header, rows)
        text_lines += saved_line(out)
    if as_json:
        sys.stderr.write(as_text(notes))
        nullable = ([None if cell == "" else cell for cell in row] for row in rows)
        objects = [dict(zip(header, row, strict=True)) for row in nullable]
        text_lines = f"{json.dumps(objects, indent=1, allow_nan=False)}\n"
    sys.stdout.write(text_lines)


def as_text(lines: Iterable[str]) -> str:
    """Join lines and replace control characters, so that input cannot control the terminal."""
    return "".join(f"{visible_text(line)}\n" for line in lines)


def skipped_lines(skipped: Sequence[SkippedSentence], total: int) -> Iterator[str]:
    """Yield a line with the number of skipped sentences, and a line for each of the first `MAX_LISTED`."""
    if total:
        yield f"Skipped: {text.plural(total, 'sentence')}."
        yield from (f"  {each.text} {each.reason}" for each in skipped[:MAX_LISTED])
    if total > MAX_LISTED:
        yield f"  … and {total - MAX_LISTED:,} more."


def saved_line(out: Path) -> str:
    """Return a line with the name and size of the output file."""
    return f"Saved: {out} ({text.in_bytes(out.stat().st_size, 1)})\n"


def aligned(rows: Sequence[Sequence[str]], align: Callable[[str, int], str] = str.rjust) -> str:
    """Format rows with aligned columns; `align` applies to all columns but the first."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            (align if column else str.ljust)(cell, width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


@contextmanager
def progress(*, log: bool = False) -> Iterator[OnProgress]:
    """Provide a function that reports an activity and its progress, 0 to 1, on standard error.

    In a terminal, it draws a bar, which is removed at the end. Elsewhere it prints nothing or, with `log`, a
    line for every tenth of the work.
    """
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (BarColumn(), TextColumn("{task.description}", markup=False))
        console = Console(stderr=True)
        with Progress(
            *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
        ) as drawing:
            bar = drawing.add_task("", total=1.0)
            yield lambda activity, done: drawing.update(bar, description=activity, completed=done)
        return
    tenths = 0

    def write_line(activity: str, done: float) -> None:
        nonlocal tenths
        if log and int(10 * done + 1e-9) > tenths:
            tenths = int(10 * done + 1e-9)
            sys.stderr.write(f"{activity}\n")

    yield write_line
