"""`find`: the tokens of a text at which a head has the most similar query, key or output."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.capture import loading
from attnviz.cli import app, output, reading
from attnviz.errors import AttnvizError
from attnviz.experiments import neighbours
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.neighbours import Neighbours, Vector
from attnviz.models.resolve import with_settings
from attnviz.text import percent, plural

COLUMNS = ("similarity", "token", "attends to", "weight", "line", "sentence")
"""Columns of the table."""


@app.command("find", epilog='Example: python -m attnviz find corpus.txt "It was late." --token 2 --head 4-2')
def find(
    corpus: Annotated[
        Path, typer.Argument(metavar="FILE", help="Text to search, UTF-8, one sentence per line.")
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Sentence with the token.")],
    token: Annotated[int, typer.Option(metavar="N", help="Position of the token, from 1.")],
    head: Annotated[str, typer.Option(metavar="LAYER-HEAD", help="Layer and head, from 1, such as 4-2.")],
    vector: Annotated[Vector, typer.Option(help="Vector to compare.")] = "query",
    count: Annotated[
        int, typer.Option(metavar="N", min=1, help="Maximum number of results.")
    ] = neighbours.COUNT,
    model: reading.Model = "minilm",
    dtype: reading.DType = None,
    device: reading.Device = None,
    ray: reading.Ray = None,
    address: reading.RayAddress = None,
    out: output.TableFile = None,
    force: output.Force = False,
    as_json: output.AsJson = False,
) -> None:
    """List the tokens of a text at which a head has the most similar query, key or output.

    The text is streamed and may have any length.
    """
    output.check_out(
        out, force, output.begins_with(COLUMNS), "table of attnviz find", ".csv", inputs=[corpus]
    )
    share = reading.share(ray, address)
    layer, number = _head(head)
    lines = Corpus.from_file(corpus)
    with output.progress() as report:
        entry = loading.open_model(with_settings(model, dtype, device), report)
    block = neighbours.block_of(entry.name, text, layer)
    if not 1 <= token <= len(block.query_tokens):
        raise AttnvizError(
            f"The sentence has {plural(len(block.query_tokens), 'token')}; --token counts from 1."
        )
    wanted = neighbours.vector_of(block, number, vector, token - 1)
    steps = neighbours.search(lines, entry.name, (layer, number), vector, wanted, count, text, share)
    with output.progress(log=True) as report:
        for step in steps:
            report(f"{step.done:,} of {plural(step.total, 'line')}", step.done / step.total)
    rows = list(_rows(entry.name, step.found))
    parts = [
        *_skipped(step.found),
        f"{plural(step.found.tokens, 'token')} in {plural(step.found.lines, 'line')} compared.",
        f"Most similar by {vector} in head {head} to {_label(entry.name, text, token - 1)}:",
        *(
            f"  {similarity:.2f}  {label} attends most to {attends_to} ({percent(weight)}): {sentence}"
            for similarity, label, attends_to, weight, _, sentence in rows
        ),
    ]
    output.give(output.as_text(parts), COLUMNS, rows, as_json=as_json, out=out)


def _rows(model: str, found: Neighbours) -> Iterator[tuple[float, str, str, float, int, str]]:
    for near in found.nearest:
        label, attends_to = (_label(model, near.sentence, place) for place in (near.place, near.attends_to))
        yield near.similarity, label, attends_to, near.weight, near.line + 1, near.sentence


def _skipped(found: Neighbours) -> Iterator[str]:
    if found.skipped:
        yield f"Skipped: {plural(found.skipped, 'line')}."
        yield from (f"  {each.text} {each.why}" for each in found.reasons[: output.MAX_LISTED])


def _label(model: str, text: str, place: int) -> str:
    group = DisplayTokens(loading.tokens(model, text), text).groups[place]
    return f"{group.number} {group.label}"


def _head(name: str) -> tuple[int, int]:
    layer, _, head = name.partition("-")
    if not (layer.isdecimal() and head.isdecimal() and int(layer) and int(head)):
        raise AttnvizError("--head must be a layer and a head, both from 1, such as 4-2.")
    return int(layer) - 1, int(head) - 1
