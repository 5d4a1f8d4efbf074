"""`index` and `find`: a text is read once, and then searched for tokens at which a head does alike."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.capture import loading
from attnviz.cli import app, output, reading
from attnviz.errors import AttnvizError
from attnviz.experiments import on_ray, text_index
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.neighbours import Search
from attnviz.models.resolve import with_settings
from attnviz.text import joined, percent, plural

COLUMNS = ("alike", "token", "looks at", "weight", "to special tokens", "sentence")
"""What the columns of the table of neighbours are called."""


@app.command("index", epilog="Example: python -m attnviz index corpus.txt --out corpus.index --layer 4")
def index(
    text: Annotated[Path, typer.Argument(metavar="FILE", help="A text in UTF-8, one sentence a line.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to write.")],
    model: reading.Model = "minilm",
    dtype: reading.Numbers = None,
    device: reading.Device = None,
    layer: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="A layer to keep, from 1; else all. May be repeated."),
    ] = None,
    ray: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Share the work out among N processes, by Ray.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="With --ray: of a cluster that runs already.")
    ] = None,
) -> None:
    """Read a text and keep what every token does in every head, for `find`.

    With the bundled BERT, 1,000 sentences of 17 tokens take 330 MB, and 55 MB for each layer. Ctrl-C keeps
    what is done; the same command goes on from there.
    """
    model = with_settings(model, dtype, device)
    corpus = Corpus.from_file(text)
    with output.progress() as tell:
        entry = loading.open_model(model, tell)
    if address is not None and ray is None:
        raise AttnvizError("--address belongs to Ray: say --ray N, or leave it out.")
    share = map if ray is None else on_ray.share(ray, address or on_ray.HERE)
    layers = None if layer is None else [each - 1 for each in layer]
    done = 0
    try:
        with output.progress(log=True) as tell:
            for step in text_index.index(corpus, entry.name, out, layers, share=share):
                done = step.done
                tell(f"{done:,} of {plural(step.total, 'line')}", done / step.total)
    except KeyboardInterrupt:
        if done:
            sys.stderr.write(
                f"\n{plural(done, 'line')} kept in {out}. The same command goes on from there.\n"
            )
        raise
    found = step.found
    said = [*output.left_out(found.skipped), f"{plural(found.tokens, 'token')} in {plural(done, 'line')}."]
    size = sum(file.stat().st_size for file in out.iterdir())
    sys.stdout.write(output.as_text([*said, f"Written: {out} ({size / 1e6:,.1f} MB)"]))


@app.command(
    "find", epilog='Example: python -m attnviz find corpus.index "It was late." --token 2 --head 4-2'
)
def find(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `index` has written.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence.")],
    token: Annotated[int, typer.Option(metavar="N", help="A token of it, from 1.")],
    head: Annotated[
        list[str],
        typer.Option(
            metavar="LAYER-HEAD", help="A head, such as 4-2; both from 1. Others of its layer may follow."
        ),
    ],
    by: Annotated[
        Literal["query", "key", "output", "state", "pattern"],
        typer.Option(help="By which of its vectors, or the layer's hidden state, or what it looks at."),
    ] = "query",
    out: output.TableFile = None,
    force: output.Force = False,
    as_json: output.AsJson = False,
) -> None:
    """The tokens of an indexed text at which a head does most nearly what it does at one token."""
    output.check_out(out, force, output.begins_with(COLUMNS), "table of attnviz find", ".csv")
    found = text_index.opened(folder)
    with output.progress() as tell:
        entry = loading.open_model(found.key.model, tell)
    text_index.check_model(found, entry)
    layers, numbers = zip(*map(_head, head), strict=True)
    if len(set(layers)) > 1:
        raise AttnvizError("Heads that are searched together belong to one layer.")
    layer = layers[0]
    read = text_index.block_of(entry.name, text, layer)
    tokens = len(read[0].query_tokens)
    if not 1 <= token <= tokens:
        raise AttnvizError(f"The sentence has {plural(tokens, 'token')}. Choose one of them, counted from 1.")
    place = token - 1
    search = Search.of(found, read, numbers, place, by, text)
    rows = list(_rows(search))
    heads = f"{'head' if len(head) == 1 else 'heads'} {joined(head)}"
    looks = _label(entry.name, text, place)
    said = [
        f"By its {by}, {heads} does at {plural(len(rows), 'token')} most nearly what it does at {looks}.",
        *(
            f"  {near:.2f}  {at} looks at {read} ({percent(weight)}): {line}"
            for near, at, read, weight, _, line in rows
        ),
    ]
    output.give(output.as_text(said), COLUMNS, rows, as_json=as_json, out=out)


def _rows(search: Search) -> Iterator[tuple[float, str, str, float, float, str]]:
    index = search.index
    for near in search.neighbours():
        line = index.lines[near.line]
        at, read = (_label(index.key.model, line, place) for place in (near.place, near.reads))
        yield near.alike, at, read, near.weight, near.to_special, line


def _label(model: str, text: str, place: int) -> str:
    group = DisplayTokens(loading.tokens(model, text), text).groups[place]
    return f"{group.number} {group.label}"


def _head(name: str) -> tuple[int, int]:
    layer, _, head = name.partition("-")
    if not (layer.isdecimal() and head.isdecimal() and int(layer) and int(head)):
        raise AttnvizError("--head needs a layer and a head, both from 1, such as 4-2.")
    return int(layer) - 1, int(head) - 1
