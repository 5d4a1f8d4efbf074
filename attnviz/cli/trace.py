"""`trace`: run a model over a text, say in short what its attention did, and keep every number in a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from attnviz.analysis.sentence import name_of, percent
from attnviz.analysis.shown import visible_text
from attnviz.analysis.strongest import strongest
from attnviz.cli.placing import check_place, written
from attnviz.cli.reading import add_reading, picture_of, read
from attnviz.errors import InvalidTrace
from attnviz.export.tables import shown_tokens
from attnviz.trace import Kind, Trace, head_name

MOST_LINKS = 3
"""How many of the strongest links are told."""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `trace` to the command line."""
    command = commands.add_parser(
        "trace",
        help="run a model over a text, and keep its attention in a file",
        description="Run a model over a text: every query, key, value, score and weight of every head. "
        "Trace.load reads the file again, and so does numpy.load.",
        epilog='example: python -m attnviz trace "The dog slept." --model minilm --out dog.npz',
    )
    add_reading(command)
    command.add_argument("--out", type=Path, metavar="FILE", help="the file to write (.npz)")
    command.add_argument("--force", action="store_true", help="write over a file that is no trace")
    command.set_defaults(run=run_trace)


def run_trace(arguments: argparse.Namespace) -> None:
    """Trace, tell, and write."""
    if arguments.out is not None:
        picture = picture_of(arguments)
        check_place(arguments.out, arguments.force, is_trace, "trace of this attnviz", ".npz", inputs=picture)
    trace = read(arguments)
    if arguments.out is not None:
        trace.save(arguments.out)  # first: who reads the summary may have read enough, and close the pipe
    sys.stdout.write(summary(trace))
    if arguments.out is not None:
        sys.stdout.write(written(arguments.out))
    else:
        sys.stdout.write("Nothing was kept: --out FILE.npz keeps every number.\n")


def is_trace(file: Path) -> bool:
    """Whether `Trace.load` reads that file."""
    try:
        Trace.load(file)
    except InvalidTrace:
        return False
    return True


def summary(trace: Trace) -> str:
    """What the model wrote, how much attention it has, and its strongest links; a line for each kind."""
    lines = []
    if trace.written:
        *_, last = trace.of_kind("decoder")[0].query_tokens[: -trace.written]
        text = trace.text if trace.target is None else trace.target
        lines.append(f"{trace.model} wrote: {text[last.end :].strip() or 'white space only'}")
    elif trace.target:
        lines.append(f"{trace.model}'s decoder read: {trace.target}")
    elif trace.target is not None:
        lines.append(f"{trace.model}'s decoder wrote nothing, and read its first token only")
    lines += [_summary(trace, kind) for kind in dict.fromkeys(block.kind for block in trace.blocks)]
    return "".join(f"{visible_text(line)}\n" for line in lines)


def _summary(trace: Trace, kind: Kind) -> str:
    blocks = trace.of_kind(kind)
    queries, keys = shown_tokens(trace, blocks[0])
    tokens = f"{len(queries)} × {len(keys)}" if kind == "cross" else f"{len(queries)}"
    layers = "1 layer" if len(blocks) == 1 else f"{len(blocks)} layers"
    told = f"{kind}: {tokens} tokens, {layers} × {len(blocks[0].query)} heads"
    links = [
        f"{name_of(link.query, queries.groups)} looks at {name_of(link.key, keys.groups)} "
        f"{percent(link.weight)} (head {head_name(link.layer, link.head)})"
        for link in strongest(blocks, MOST_LINKS)
    ]
    return f"{told}; strongest links: {', '.join(links)}" if links else told
