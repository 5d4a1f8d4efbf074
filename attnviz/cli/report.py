"""`report`: attention as one HTML file, which anybody opens without attnviz and without a network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from attnviz.atomic_file import atomic_file
from attnviz.cli import app, reading
from attnviz.cli.output import Force, check_out, written
from attnviz.errors import AttnvizError
from attnviz.export.report.page import MARK, InitialView, View, report
from attnviz.models.resolve import with_settings
from attnviz.trace import Kind, Trace

_HEAD = 4096  # bytes that identify a page


@app.command(
    "report",
    cls=reading.TextCommand,
    context_settings=reading.TAKES_DASHES,
    epilog='Example: python -m attnviz report "The dog slept." --layer 4 --head 2 --out dog.html',
)
def run(
    ctx: typer.Context,
    text: reading.TextOrNone = None,
    model: reading.Model = "minilm",
    dtype: reading.Numbers = None,
    device: reading.Device = None,
    trace: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Instead of a text: a file that `trace` has written; several share one page: --trace again.",
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write (.html).")],
    force: Force = False,
    kind: Annotated[Kind | None, typer.Option(help="The kind of attention that is open first.")] = None,
    layer: Annotated[int, typer.Option(metavar="N", help="The layer that is open first, from 1.")] = 1,
    head: Annotated[int, typer.Option(metavar="N", help="The head that is open first, from 1.")] = 1,
    token: Annotated[
        int | None, typer.Option(metavar="N", help="The token to follow first, from 1; without it, all.")
    ] = None,
    view: Annotated[View, typer.Option(help="The picture that is open first.")] = "lines",
    hide: Annotated[bool, typer.Option("--hide", help="Begin without special tokens like [CLS].")] = False,
) -> None:
    """Write one HTML file with all heads, to mail or to print.

    Any browser opens it, with no network. It has small pictures of all heads, each one as lines and as a
    matrix, and every number. Whatever is open first can be changed on the page. `trace` has more ways to read
    a text: show the file that it writes.
    """
    files = trace or []
    check_out(out, force, is_page, "page of attnviz", ".html", inputs=[*reading.picture_of(text), *files])
    if (text is None) == (not files):
        raise AttnvizError('Give a text, as in report "The dog slept.", or files with --trace, but not both.')
    unread = [f"--{name}" for name in ("model", "dtype", "device") if _typed(ctx, name)]
    if files and unread:
        raise AttnvizError(f"--trace shows files unchanged. Remove {', '.join(unread)}.")
    traces = [_loaded(file) for file in files]
    if text is not None:
        traces = [reading.read(with_settings(model, dtype, device), text)]
    opening = InitialView(
        kind=kind,
        layer=layer - 1,
        head=head - 1,
        query=None if token is None else token - 1,
        view=view,
        hide_special=hide,
    )
    page = report(traces, opening)
    with atomic_file(out) as opened:
        opened.write(page.encode())
    sys.stdout.write(written(out))


def _typed(ctx: typer.Context, name: str) -> bool:
    """Whether the option was used."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _loaded(file: Path) -> Trace:
    """The trace in a file; of several files, an error names the bad one."""
    try:
        return Trace.load(file)
    except AttnvizError as error:
        raise AttnvizError(f"{file}: {error}") from error


def is_page(file: Path) -> bool:
    """Whether that file is a page that attnviz wrote."""
    with file.open("rb") as opened:
        return MARK.encode() in opened.read(_HEAD)
