"""`trace`: run a model on a text, summarize its attention, and save all arrays to a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from attnviz.analysis.display_tokens import queries_and_keys
from attnviz.analysis.linking import strongest
from attnviz.analysis.sentence import name_of
from attnviz.capture import loading
from attnviz.capture.model import Writing
from attnviz.capture.selection import MAX_WEIGHT_BYTES
from attnviz.capture.selection import selection as select
from attnviz.cli import app, reading
from attnviz.cli.output import Force, as_text, check_out, written
from attnviz.interventions.edit import Edit
from attnviz.models.resolve import with_settings
from attnviz.text import head_name, percent, plural
from attnviz.trace import Kind, Trace

MAX_LINKS = 3
"""Maximum number of strongest links that are printed."""


@app.command(
    "trace",
    epilog='Example: python -m attnviz trace "The dog slept." --model minilm --out dog.npz',
)
def run(
    text: reading.Text,
    model: reading.Model = "minilm",
    dtype: reading.DType = None,
    device: reading.Device = None,
    second: reading.Second = None,
    target: reading.Target = None,
    write: reading.Write = None,
    edit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EDIT",
            help="Edit the attention before continuing the forward pass; may be repeated. “encoder 4-2” "
            "ablates head 2 of layer 4; “encoder 4-2 9 >7” makes token 9 attend only to token 7 in that "
            "head. Special tokens such as [CLS] count as tokens.",
        ),
    ] = None,
    layer: Annotated[
        list[int] | None,
        typer.Option(metavar="N", min=1, help="Keep only this layer (1-based; may be repeated)."),
    ] = None,
    head: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N", min=1, help="Keep only this head of each layer (1-based; may be repeated)."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Output file (.npz).")] = None,
    force: Force = False,
) -> None:
    """Run a model on a text, print the strongest links, and save its attention with --out.

    The file has all queries, keys, values and weights of all heads. Load it with attnviz.Trace.load, which
    also computes scores, or with numpy.load.
    """
    check_out(out, force)
    model = with_settings(model, dtype, device)
    writing = None if write is None else Writing(write)
    edits = [Edit.parse(each) for each in edit or ()]
    layers, heads = ([number - 1 for number in numbers] if numbers else None for numbers in (layer, head))
    selection = select(layers, heads, None, "weights", MAX_WEIGHT_BYTES)
    trace = reading.read(model, text, second, target, writing, edits, selection)
    if out is not None:
        trace.save(out)  # before the summary, whose pipe may be closed early
    sys.stdout.write(summary(trace, edits))
    kept = "Nothing was saved. Use --out FILE.npz to save all arrays.\n" if out is None else written(out)
    sys.stdout.write(kept)


def summary(trace: Trace, edits: Sequence[Edit] = ()) -> str:
    """Return the edits, the generated text, and the size and strongest links of each kind of attention."""
    lines = [f"edited: {', '.join(map(str, edits))}"] if edits else []
    if trace.written:
        *_, last = trace.of_kind("decoder")[0].query_tokens[: -trace.written]
        text = trace.text if trace.target is None else trace.target
        lines.append(f"{trace.model} wrote: {text[last.end :].strip() or 'only white space'}")
    elif trace.target:
        lines.append(f"{trace.model}'s decoder read: {trace.target}")
    elif trace.target is not None:
        lines.append(f"{trace.model}'s decoder generated no text")
    if trace.blocks[0].weights_alone:
        lines.append(str(loading.load(trace.model).weights_alone))
    lines += [_summary(trace, kind) for kind in dict.fromkeys(block.kind for block in trace.blocks)]
    return as_text(lines)


def _summary(trace: Trace, kind: Kind) -> str:
    blocks = trace.of_kind(kind)
    shown = queries_and_keys(trace, kind)
    queries, keys = shown[0], shown[-1]
    tokens = f"{len(queries)} × {len(keys)}" if kind == "cross" else f"{len(queries)}"
    size = f"{kind}: {tokens} tokens, {plural(len(blocks), 'layer')} × {len(blocks[0].query)} heads"
    links = [
        f"{name_of(link.query, queries.groups)} attends to {name_of(link.key, keys.groups)} "
        f"{percent(link.weight)} (head {head_name(link.layer, link.head)})"
        for link in strongest(blocks, MAX_LINKS)
    ]
    return f"{size}; strongest links: {', '.join(links)}" if links else size
