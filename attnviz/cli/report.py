"""`report`: write attention to one HTML file that needs neither attnviz nor a network connection."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from attnviz.atomic_file import atomic_file
from attnviz.cli import app, reading
from attnviz.cli.output import Force, check_out, saved_line
from attnviz.errors import AttnvizError
from attnviz.export.report.page import InitialView, report
from attnviz.models.resolve import with_settings
from attnviz.trace import Trace


@app.command(
    "report",
    epilog='Example: python -m attnviz report "The dog slept." --layer 4 --head 2 --out dog.html',
)
def run(
    text: reading.TextOrNone = None,
    model: reading.ModelOrNone = None,
    dtype: reading.DType = None,
    device: reading.Device = None,
    trace: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="File written by `trace`, instead of a text; may be repeated to combine several traces.",
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Output file (.html).")],
    force: Force = False,
    layer: Annotated[int, typer.Option(metavar="N", help="Initially selected layer, from 1.")] = 1,
    head: Annotated[int, typer.Option(metavar="N", help="Initially selected head, from 1.")] = 1,
) -> None:
    """Write one self-contained HTML file with all heads.

    The file opens in any browser without a network connection. It has thumbnails of all heads, each head as
    lines and as a matrix, and all values. For more input options, pass a file written by `trace`.
    """
    files = trace or []
    check_out(out, force)
    if (text is None) == (not files):
        raise AttnvizError('Pass either a text, as in report "The dog slept.", or files with --trace.')
    if files and (model or dtype or device):
        raise AttnvizError("--trace cannot be combined with --model, --dtype or --device.")
    traces = [_loaded(file) for file in files]
    if text is not None:
        traces = [reading.read(with_settings(model or "minilm", dtype, device), text)]
    page = report(traces, InitialView(layer=layer - 1, head=head - 1))
    with atomic_file(out) as opened:
        opened.write(page.encode())
    sys.stdout.write(saved_line(out))


def _loaded(file: Path) -> Trace:
    """Load a trace; errors name the file."""
    try:
        return Trace.load(file)
    except AttnvizError as error:
        raise AttnvizError(f"{file}: {error}") from error
