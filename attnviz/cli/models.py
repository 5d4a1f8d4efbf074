"""`models`: list the bundled models, or describe a model without loading its weights."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Annotated

import typer

from attnviz.cli import app, output
from attnviz.models import catalogue, resolve, weights
from attnviz.models.catalogue import Downloaded, Entry, Folder, Hub, Package, Trained
from attnviz.models.tokenizer import tokenizer_of
from attnviz.text import in_bytes

_COLUMNS = (
    *("name", "title", "family", "attention", "encoder_layers", "decoder_layers", "heads", "d_model"),
    *("d_head", "parameters", "token_limit", "reads_pairs", "is_vision_model", "expects"),
)


@app.command("models")
def run(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="A name, a folder, or a Hugging Face id such as owner/name."),
    ] = None,
    as_json: output.AsJson = False,
) -> None:
    """List the bundled models, or describe MODEL without loading its weights.

    If MODEL is not supported, the reason is printed.
    """
    if model is None:
        entries = [catalogue.entry(name) for name in catalogue.names()]
        text = (
            f"{table(entries)}\n"
            "EXPECTS: the tokens that attnviz.predictions predicts; none without a language-model head.\n"
            "Other models: python -m attnviz models FOLDER, or owner/name on the Hugging Face hub.\n"
        )
    else:
        entries = [resolve.entry(model)]
        text = described(*entries)
    output.print_output(text, _COLUMNS, map(_cells, entries), as_json=as_json)


def _cells(e: Entry) -> tuple[object, ...]:
    return (
        *(e.name, e.title, e.family, e.kinds, e.layers, e.decoder_layers, e.heads, e.d_model),
        *(e.d_head, _parameters(e), e.token_limit, e.pairs, e.is_vision_model, e.expects),
    )


def table(entries: Sequence[Entry]) -> str:
    """Return a table with one line per model."""
    rows = [("NAME", "ATTENTION", "LAYERS", "HEADS", "PARAMETERS", "EXPECTS")]
    rows += [
        (e.name, ", ".join(e.kinds), _layers(e), str(e.heads), f"{_parameters(e):,}", _expects(e))
        for e in entries
    ]
    return output.aligned(rows, str.ljust)


def described(entry: Entry) -> str:
    """Return the description of one model, one line per property."""
    facts = {
        "name": entry.name,
        "family": entry.family,
        "attention": ", ".join(entry.kinds),
        "layers": _layers(entry),
        "heads": str(entry.heads),
        "d_model": f"{entry.d_model:,}",
        "d_head": f"{entry.d_head:,}",
        "parameters": f"{_parameters(entry):,}",
        "reads": _reads(entry),
        "expects": f"{_expects(entry)}{_prediction_note(entry)}",
        "files": _files(entry),
    }
    lines = [entry.title, *textwrap.wrap(entry.description, 100, initial_indent="  ", subsequent_indent="  ")]
    lines += [f"  {name:12}{fact}" for name, fact in facts.items()]
    return output.as_text(lines)


def _layers(entry: Entry) -> str:
    return " + ".join(str(count) for count in (entry.layers, entry.decoder_layers) if count)


def _parameters(entry: Entry) -> int:
    """Return the number of parameters, from the entry or from the weights file."""
    if entry.parameters is not None:
        return entry.parameters
    match entry.origin:
        case Trained(file=file):
            weights_file = file
        case Package(folder=folder):
            weights_file = folder / weights.FILE
    return weights.count_parameters(weights_file, weights_file.name).total()


def _expects(entry: Entry) -> str:
    return {"next": "the next token", "masked": "masked tokens", None: "nothing"}[entry.expects]


def _prediction_note(entry: Entry) -> str:
    """Return a note on predictions: the mask token to type, or that there are none."""
    match entry:
        case Entry(expects="masked", origin=Folder()):
            mask = tokenizer_of(entry).mask
            return f", typed as {mask}" if mask else ""
        case Entry(expects=None):
            return ", so predictions() returns none"
    return ""


def _reads(entry: Entry) -> str:
    if entry.is_vision_model:
        return f"an image, as {entry.token_limit:,} tokens"
    return f"{'one text, or a pair' if entry.pairs else 'one text'}, up to {entry.token_limit:,} tokens"


def _files(entry: Entry) -> str:
    match entry.origin:
        case Hub(repository=repository, size=size):
            return f"{repository} on the Hugging Face hub; {in_bytes(size, 1)} to download"
        case Downloaded(repository=repository, folder=folder):
            return f"{folder}, downloaded from {repository}"
        case Folder(folder=folder):
            return str(folder)
        case _:
            return "bundled with attnviz"
