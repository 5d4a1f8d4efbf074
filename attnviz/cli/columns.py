"""Tables of a command: aligned for the terminal, and as a file that any spreadsheet opens."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from attnviz.experiments.replacing import replacing

Cells = Sequence[str | int | float]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """The rows as lines, each column as wide as its widest cell; all but the first are set to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def csv_text(header: Sequence[str], rows: Iterable[Cells]) -> str:
    """A table with commas."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return written.getvalue()


def write_table(file: Path, header: Sequence[str], rows: Iterable[Cells]) -> None:
    """Write a table with commas, in the place of what was there before.

    Raises:
        OSError: the file cannot be written; what was there before stays.
    """
    with replacing(file) as opened:
        opened.write(csv_text(header, rows).encode())


def begins_with(header: Sequence[str]) -> Callable[[Path], bool]:
    """Tells whether an existing file is such a table, by its first line."""

    def is_table(file: Path) -> bool:
        with file.open("rb") as opened:
            return opened.readline().rstrip() == ",".join(header).encode()

    return is_table


def interval(low: float, high: float) -> str:
    """A confidence interval as a person reads it: "13.1–25.1 %"."""
    return f"{100 * low:.1f}–{100 * high:.1f} %"


def share(part: float, total: int) -> str:
    """A share with one decimal: "18.4 %"; of nothing, "–"."""
    return f"{100 * part / total:.1f} %" if total else "–"


def plural(number: int, thing: str) -> str:
    """So many of a thing: "1 line", "1,204 lines"."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def joined(parts: Sequence[str]) -> str:
    """A list as a sentence has it: "a, b and c"; "" of nothing."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
