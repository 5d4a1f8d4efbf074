"""What `pronouns` and `relations` share: a model, who looks at whom, and a table of all heads."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from attnviz.capture import loading
from attnviz.cli.columns import Cells, begins_with, write_table
from attnviz.cli.placing import check_place, written
from attnviz.cli.telling import progress
from attnviz.experiments.one_by_one import reader, self_attention
from attnviz.trace import Kind, Trace


def add_choices(command: argparse.ArgumentParser, looks: Sequence[str], who: str) -> None:
    """Let a command take a model, one of the ways to look, the first if none is said, and a file to write."""
    command.add_argument(
        "--model", default="minilm", metavar="MODEL", help="a name, a folder, or a Hugging Face id (minilm)"
    )
    command.add_argument("--looks", choices=looks, default=looks[0], help=f"who looks: {who} ({looks[0]})")
    command.add_argument("--out", type=Path, metavar="FILE", help="the file to write, with all heads (.csv)")
    command.add_argument("--force", action="store_true", help="write over a file that is no such table")


def check_out(
    arguments: argparse.Namespace, header: Sequence[str], what: str, inputs: Sequence[Path] = ()
) -> None:
    """Whether the table, if one is asked for, may be written; arguments and errors as of `check_place`."""
    if arguments.out is not None:
        check_place(arguments.out, arguments.force, begins_with(header), what, ".csv", inputs=inputs)


def opened(model: str) -> tuple[Kind, Callable[[str], Trace]]:
    """Load the model, with a bar where somebody watches: the attention by which it reads, and how it reads.

    Raises:
        AttnvizError: it cannot be loaded, or reads no text.
    """
    with progress() as tell:
        entry = loading.open_model(model, tell)
    return self_attention(entry), reader(entry, loading.load(model))


def give(told: str, out: Path | None, header: Sequence[str], rows: Iterable[Cells]) -> None:
    """Write the table, if one is asked for, and then print: whoever stops reading loses no file.

    Raises:
        OSError: it cannot be written, or nobody reads what is printed.
    """
    if out is not None:
        write_table(out, header, rows)
        told += written(out)
    sys.stdout.write(told)
