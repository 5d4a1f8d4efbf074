"""`heads`: what each head of a model does, on average over a text of many sentences."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from attnviz.analysis.distance import ranked
from attnviz.analysis.rules import OF_ALL, OF_WORDS, Special
from attnviz.analysis.tally import COLUMNS, RULES, Figures, rows
from attnviz.capture import loading
from attnviz.cli import app, output, reading
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments import findings_file, on_ray
from attnviz.experiments.behaviour import PART, BehaviourFindings, Engine, locally, measure_corpus
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.findings_file import RunKey
from attnviz.models.catalogue import Entry
from attnviz.models.resolve import with_settings
from attnviz.text import NO_NUMBER, head_name, percent, plural

PIPED = "standard input"
"""What messages call a text that comes through the pipe."""

MOST_LISTED = 10
"""How many of the lines that could not be read are printed; the NPZ file names more."""

MOST_REASONS = 3
"""How many of them are printed if nothing else was read."""

_SPECIAL = Special("[CLS] where the model has it", ("special tokens behind the first, such as [SEP],",))


@app.command("heads", epilog="Example: python -m attnviz heads corpus.txt --model minilm --out heads.csv")
def run(
    text: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help=f"A text in UTF-8, one sentence a line; {reading.STDIN}: standard input."
        ),
    ],
    model: reading.Model = "minilm",
    dtype: reading.Numbers = None,
    device: reading.Device = None,
    top: Annotated[int, typer.Option(metavar="N", help="How many heads to print for each rule.")] = 5,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file to write: .csv for all heads and rules, .npz for all sums and distributions too.",
        ),
    ] = None,
    force: output.Force = False,
    as_json: output.AsJson = False,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(
            help=f"Who does the work. Ray, the optional extra [ray], distributes parts of {PART:,} lines."
        ),
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Of Ray: how many; else one a processor.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Of a Ray cluster that runs; else this machine.")
    ] = None,
) -> None:
    """What each head does over a text of many sentences.

    How much it looks at the token before, at itself, at punctuation, how far away … with the mean, ± the
    standard deviation of the sentences' scores (of all n of them, divided by n), and what a head would get
    that shares its attention evenly.
    """
    model = with_settings(model, dtype, device)
    worker = _engine(engine, workers, address)
    if top < 1:
        raise AttnvizError("--top needs a number of heads: 1 or more.")
    archive = out is not None and out.suffix.lower() == ".npz"
    if archive:
        output.check_out(
            out, force, output.readable(findings_file.read), "file of attnviz heads", ".npz", inputs=[text]
        )
    else:
        output.check_out(
            out,
            force,
            output.begins_with(COLUMNS[:8]),
            "table of attnviz heads",
            ".csv",
            ".npz",
            inputs=[text],
        )
    corpus = (
        Corpus.from_bytes(sys.stdin.buffer.read(), PIPED)
        if str(text) == reading.STDIN
        else Corpus.from_file(text)
    )
    with output.progress() as tell:
        entry = loading.open_model(model, tell)
    with output.progress(log=True) as tell:
        for step in measure_corpus(corpus, entry.name, engine=worker):
            tell(f"{step.done:,} of {plural(step.total, 'line')}", step.done / step.total)
    found = step.found
    if not found.tally.sentences:
        raise AttnvizError(_none_read(found, entry, corpus))
    said = output.as_text(summary(found, entry, corpus, top))
    if out is None:
        said += "Nothing was kept: --out FILE.csv or FILE.npz keeps the figures of all heads.\n"
    else:
        if archive:
            layers = entry.layers_of(entry.kinds[0])
            key = RunKey(entry.name, entry.files_digest, corpus.key, corpus.lines, layers, entry.heads)
            findings_file.write(out, key, found)
        else:
            output.write_table(out, COLUMNS, rows(found.tally))
        said += output.written(out)
    _tell(said, found, as_json)


def _tell(said: str, found: BehaviourFindings, as_json: bool) -> None:
    output.give(said, COLUMNS, rows(found.tally), as_json=as_json, beside=_unread(found))


def summary(found: BehaviourFindings, entry: Entry, corpus: Corpus, top: int) -> Iterator[str]:
    """What is printed: the text, what could not be read, and the foremost heads by every rule."""
    tally = found.tally
    layers, heads = tally.shape
    yield (
        f"{entry.name}: {plural(layers, 'layer')} × {plural(heads, 'head')}, over "
        f"{plural(int(tally.sentences), 'sentence')} of {corpus.name} ({plural(int(tally.tokens), 'token')})"
    )
    if found.empty:
        yield f"Empty lines: {found.empty:,}."
    yield from _unread(found)
    for rule in RULES:
        yield ""
        yield from _foremost(tally.of(rule.name), top)


def _unread(found: BehaviourFindings) -> Iterator[str]:
    if found.skipped:
        yield f"Lines that could not be read, and count for nothing: {found.skipped:,}."
        yield from (f"  line {skipped.line:,}: {skipped.why}" for skipped in found.named[:MOST_LISTED])
        if found.skipped > MOST_LISTED:
            yield f"  … and {found.skipped - MOST_LISTED:,} more"


def _foremost(figures: Figures, top: int) -> Iterator[str]:
    rule = figures.rule
    yield f"{rule.name.upper()}: on average a token {rule.defined(_SPECIAL)}."
    if not figures.count.any():
        yield f"  no sentence counted (it takes {rule.meaning})"
        return
    least, most = (f"{count:,}" for count in (figures.count.min(), figures.count.max()))
    counted = least if least == most else f"{least} to {most}, by layer,"
    yield f"  counted: {counted} ({rule.meaning})"
    for layer, head in ranked(np.nan_to_num(figures.mean, nan=-1))[:top]:
        arrays = figures.mean[:, head], figures.deviation[:, head], figures.baseline, figures.raw[:, head]
        mean, deviation, even, raw, raw_even = (
            f"{array[layer]:.2f}" if rule.unit == "tokens" else percent(float(array[layer]), 1)
            for array in (*arrays, figures.raw_baseline)
        )
        if figures.count[layer] == 1:
            deviation = NO_NUMBER  # one number does not vary
        of_all = f"; {raw} {OF_ALL}, even {raw_even}" if rule.of == OF_WORDS else ""
        yield f"  head {head_name(layer, head):<6} {mean:>7} ± {deviation:<7} even attention {even}{of_all}"


def _none_read(found: BehaviourFindings, entry: Entry, corpus: Corpus) -> str:
    """That there are no figures, and what is wrong with the first lines."""
    reasons = " ".join(f"Line {skipped.line:,}: {skipped.why}" for skipped in found.named[:MOST_REASONS])
    return f"{quoted(entry.name)} can read no sentence of {quoted(corpus.name)}. {reasons}"


def _engine(engine: str, workers: int | None, address: str | None) -> Engine:
    if engine == "local":
        if workers is not None or address is not None:
            raise AttnvizError("--workers and --address belong to Ray: say --engine ray, or leave them out.")
        return locally
    if workers is None:
        workers = os.cpu_count() or 1
    if workers < 1:
        raise AttnvizError("--workers needs a number of workers: 1 or more.")
    return on_ray.on_ray(workers, address or on_ray.HERE)
