"""What a command writes: tables, how far it is, and a file that replaces only one of its own kind."""

from __future__ import annotations

import json
import sys
import textwrap
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

_WIDTH = 100  # characters of a line

MAX_LISTED = 3
"""How many of the sentences that could not be read are named."""

TableFile = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="The file to write, with all heads (.csv).")
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file of another kind.")]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print the whole table as JSON and nothing else: an object for each row. Layers and heads count "
        "from 1, shares are 0 to 1, and null is where the table has nothing.",
    ),
]


def check_out(
    out: Path | None,
    force: bool,
    ours: Callable[[Path], bool],
    what: str,
    *suffixes: str,
    inputs: Iterable[Path] = (),
) -> None:
    """Whether a file may be written there, asked before anything slow is done.

    Args:
        out: the file to write; None: none is written.
        force: replace a file of another kind, and accept any ending of its name.
        ours: whether an existing file is of the kind that the command writes; it may raise the reason.
        what: that kind, as a person calls it: "trace of this attnviz".
        suffixes: how the name ends, if it has an ending, the usual one first.
        inputs: what the command reads. It is never written over, not even by force.

    Raises:
        AttnvizError: there is no such folder, the name ends otherwise, or something else would be lost.
    """
    if out is None:
        return
    if any(out.exists() and each.exists() and out.samefile(each) for each in inputs):
        raise AttnvizError(
            f"{out} is what is read here, and it would be lost. Choose another file for --out."
        )
    if str(out) == "-":
        raise AttnvizError(f"--out needs the name of a file, such as attention{suffixes[0]}.")
    if out.suffix.lower() not in ("", *suffixes) and not force:
        better = " or ".join(str(out.with_suffix(suffix)) for suffix in suffixes)
        raise AttnvizError(
            f"{out} would be a {what}, whose name ends in {' or '.join(suffixes)}. Choose {better}, or use "
            "--force."
        )
    if not out.parent.is_dir():
        raise AttnvizError(f"There is no folder {out.parent}. Make it first, or choose another --out.")
    if out.is_dir():
        raise AttnvizError(f"{out} is a folder. Choose the name of a file for --out.")
    if out.exists() and not force and not ours(out):
        raise AttnvizError(
            f"{out} is there already and is no {what}. Choose another --out, or use --force to overwrite it."
        )


def begins_with(header: Sequence[str]) -> Callable[[Path], bool]:
    """Return whether an existing file is a CSV table whose header begins with these columns."""

    def is_table(file: Path) -> bool:
        with file.open("rb") as opened:
            return opened.readline().startswith(",".join(header).encode())

    return is_table


def readable(read: Callable[[Path], object]) -> Callable[[Path], bool]:
    """Raise an `AttnvizError` with the reason if an existing file cannot be read."""

    def is_readable(file: Path) -> bool:
        try:
            read(file)
        except AttnvizError as error:
            raise AttnvizError(f"{file} is there already. {error} Use --force to overwrite it.") from error
        return True

    return is_readable


def write_table(file: Path, header: Sequence[str], rows: Iterable[Cells]) -> None:
    """Write a CSV table.

    Raises:
        OSError: the file cannot be written; what was there before stays.
    """
    with atomic_file(file) as opened:
        opened.write(csv_text(header, rows).encode())


def give(
    text_lines: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    as_json: bool,
    beside: Iterable[str] = (),
    out: Path | None = None,
) -> None:
    """Print the lines for a person, or the table as JSON and nothing else.

    Args:
        text_lines: the table and what belongs to it, in words.
        header, rows: the table itself; an empty cell becomes null.
        out: a file for the table, which is written first: whoever stops reading loses no file.
        beside: lines of `text_lines` without a row, such as what could not be read: standard error gets them.

    Raises:
        OSError: the file cannot be written, or standard output is closed.
    """
    rows = list(rows)
    if out is not None:
        write_table(out, header, rows)
        text_lines += written(out)
    if as_json:
        sys.stderr.write(as_text(beside))
        filled = ([None if cell == "" else cell for cell in row] for row in rows)
        objects = [dict(zip(header, row, strict=True)) for row in filled]
        text_lines = f"{json.dumps(objects, indent=1, allow_nan=False)}\n"
    sys.stdout.write(text_lines)


def as_text(lines: Iterable[str]) -> str:
    """The lines; what a text or a file smuggled into one never commands the terminal."""
    return "".join(f"{visible_text(line)}\n" for line in lines)


def wrapped(paragraph: str, indent: str = "") -> list[str]:
    """A paragraph as lines."""
    return textwrap.wrap(paragraph, _WIDTH, initial_indent=indent, subsequent_indent=indent)


def omitted(unread: Sequence[SkippedSentence], total: int | None = None) -> Iterator[str]:
    """How many sentences could not be read, and the first of them; a line for each.

    `total` is how many there are, if `unread` names only some.
    """
    total = len(unread) if total is None else total
    if total:
        yield f"Skipped: {text.plural(total, 'more sentence')}."
        yield from (f"  {each.text} {each.why}" for each in unread[:MAX_LISTED])
    if total > MAX_LISTED:
        yield f"  … and {total - MAX_LISTED:,} more."


def written(out: Path) -> str:
    """The line with the file that was written, and its size."""
    return f"Written: {out} ({text.in_bytes(out.stat().st_size, 1)})\n"


def aligned(rows: Sequence[Sequence[str]], align: Callable[[str, int], str] = str.rjust) -> str:
    """The rows as lines, each column as wide as its widest cell; `align` sets all columns but the first."""
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
    """Provide a function to report what is being done, and how much of it is done, 0 to 1.

    It shows that on standard error. In a terminal it draws a bar, which is wiped away in the end. Elsewhere
    it prints nothing or, with `log`, writes a line for every tenth.
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
            yield lambda doing, done: drawing.update(bar, description=doing, completed=done)
        return
    tenths = 0

    def write_line(doing: str, done: float) -> None:
        nonlocal tenths
        if log and int(10 * done + 1e-9) > tenths:
            tenths = int(10 * done + 1e-9)
            sys.stderr.write(f"{doing}\n")

    yield write_line
