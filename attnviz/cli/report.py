"""`report`: attention as one HTML file, which anybody opens without attnviz and without a network."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from attnviz.cli.placing import check_place, written
from attnviz.cli.reading import add_reading, picture_of, read
from attnviz.errors import AttnvizError
from attnviz.export.report.page import MARK, Opening, report
from attnviz.trace import Trace

_HEAD = 4096  # bytes in which a page says what it is


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `report` to the command line."""
    command = commands.add_parser(
        "report",
        help="write one HTML file with all heads, to open without a network, to mail or to print",
        description="Write one HTML file with the attention of every head: small pictures of all of them, "
        "each one as lines and as a matrix, every number. Any browser opens it, with no network.",
        epilog='example: python -m attnviz report "The dog slept." --layer 4 --head 2 --out dog.html',
    )
    add_reading(command, needed=False)
    command.add_argument(
        "--trace",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="instead of a text: what `trace` has written; several share one page",
    )
    command.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write (.html)")
    command.add_argument("--force", action="store_true", help="write over a file that is no such page")
    first = command.add_argument_group("what is open first", "Everything can be changed on the page.")
    first.add_argument("--kind", choices=("encoder", "decoder", "cross"), help="of attention")
    first.add_argument("--layer", type=int, default=1, metavar="N", help="from 1 (1)")
    first.add_argument("--head", type=int, default=1, metavar="N", help="from 1 (1)")
    first.add_argument("--token", type=int, metavar="N", help="the token to follow, from 1 (all)")
    first.add_argument("--view", choices=("lines", "matrix"), default="lines", help="the picture (lines)")
    first.add_argument("--hide", action="store_true", help="without special tokens like [CLS]")
    command.set_defaults(run=run_report)


def run_report(arguments: argparse.Namespace) -> None:
    """Read, and write the page."""
    out: Path = arguments.out
    inputs = [*picture_of(arguments), *arguments.trace]
    check_place(out, arguments.force, is_page, "page of attnviz", ".html", inputs=inputs)
    if (arguments.text is None) == (not arguments.trace):
        raise AttnvizError('Give a text, as in report "The dog slept.", or files with --trace, but not both.')
    traces = [_loaded(file) for file in arguments.trace] or [read(arguments)]
    opening = Opening(
        kind=arguments.kind,
        layer=arguments.layer - 1,
        head=arguments.head - 1,
        query=None if arguments.token is None else arguments.token - 1,
        view=arguments.view,
        hide_special=arguments.hide,
    )
    out.write_text(report(traces, opening), "utf-8")
    sys.stdout.write(written(out))


def _loaded(file: Path) -> Trace:
    """The trace in a file; of several files, an error says which one is bad."""
    try:
        return Trace.load(file)
    except AttnvizError as error:
        raise AttnvizError(f"{file}: {error}") from error


def is_page(file: Path) -> bool:
    """Whether that file is a page that attnviz wrote."""
    with file.open("rb") as opened:
        return MARK.encode() in opened.read(_HEAD)
