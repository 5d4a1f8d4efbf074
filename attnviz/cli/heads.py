"""`heads`: what each head of a model does, on average over a text of many sentences."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from attnviz.analysis.shown import visible_text
from attnviz.analysis.tally import RULES, Figures, Rule, rows
from attnviz.capture import loading
from attnviz.cli.columns import begins_with, plural, write_table
from attnviz.cli.placing import check_place, written
from attnviz.cli.reading import STDIN
from attnviz.cli.resuming import counted, job_of
from attnviz.cli.telling import progress
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments import findings_file, on_ray
from attnviz.experiments.corpus import PART, Corpus, Engine, Found, locally
from attnviz.models.catalogue import Entry
from attnviz.trace import head_name

PIPED = "standard input"
"""What messages call a text that comes through the pipe."""

MOST_TOLD = 10
"""How many of the lines that could not be read are told; the NPZ file names more."""

MOST_REASONS = 3
"""How many of them are told if nothing else was read."""

HEADER = ("layer", "head", "rule", "unit", "sentences", "mean", "deviation", "even attention")
"""The columns of the table in a CSV file; layers and heads count from 1, shares are 0 to 1."""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `heads` to the command line."""
    command = commands.add_parser(
        "heads",
        help="what each head does over a text of many sentences",
        description="What each head of a model does over a text of many sentences, one a line: how much it "
        "looks at the token before, at itself, at punctuation, how far away … with the mean, ± the standard "
        "deviation of the sentences' scores (of all n of them, divided by n), and what a head would get that "
        "shares its attention evenly. Ctrl-C keeps what is done; the same command goes on from there.",
        epilog="example: python -m attnviz heads corpus.txt --model minilm --out heads.csv",
    )
    command.add_argument(
        "text",
        type=Path,
        metavar="FILE",
        help=f"a text in UTF-8, one sentence a line; {STDIN}: standard input",
    )
    command.add_argument(
        "--model",
        default="minilm",
        metavar="MODEL",
        help="a name that `models` lists, a folder, or a Hugging Face id like owner/name (minilm)",
    )
    command.add_argument("--top", type=int, default=5, metavar="N", help="how many heads to print a rule (5)")
    command.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="the file to write: .csv for all heads and rules, .npz for all sums and distributions too",
    )
    command.add_argument("--force", action="store_true", help="write over whatever lies there")
    command.add_argument(
        "--keep", type=Path, metavar="FILE", help="where unfinished work is kept (in this folder)"
    )
    engine = command.add_argument_group(
        "engine",
        f"Ray shares the work out, {PART:,} lines at a time, and Ctrl-C then keeps the parts that are whole. "
        "It is an optional extra: requirements-ray.txt.",
    )
    engine.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="who does the work (local)"
    )
    engine.add_argument("--workers", type=int, metavar="N", help="of Ray: how many (one a processor)")
    engine.add_argument("--address", metavar="HOST:PORT", help="of a Ray cluster that runs (this machine)")
    command.set_defaults(run=run_heads)


def run_heads(arguments: argparse.Namespace) -> None:
    """Count, write, and tell."""
    engine = _engine(arguments)
    if arguments.top < 1:
        raise AttnvizError("--top needs a number of heads: 1 or more.")
    _check_out(arguments)
    corpus = _corpus(arguments.text)
    with progress() as tell:
        entry = loading.open_model(arguments.model, tell)
    out: Path | None = arguments.out
    with counted(corpus, entry, engine, arguments.keep, out) as found:
        said = "".join(f"{visible_text(line)}\n" for line in told(found, entry, corpus, arguments.top))
        if found.tally.sentences and out is None:
            sys.stdout.write(
                f"{said}Nothing was kept: --out FILE.csv or FILE.npz keeps the figures of all heads.\n"
            )
            sys.stdout.flush()  # here, so that nothing is lost if nobody reads it
        elif found.tally.sentences and out is not None:
            _write(out, corpus, entry, found)
    if not found.tally.sentences:
        raise AttnvizError(_none_read(found, entry, corpus))
    if out is not None:
        sys.stdout.write(said + written(out))


def told(found: Found, entry: Entry, corpus: Corpus, top: int) -> Iterator[str]:
    """What is printed: the text, what could not be read, and the foremost heads by every rule."""
    tally = found.tally
    layers, heads = tally.shape
    yield (
        f"{entry.name}: {plural(layers, 'layer')} × {plural(heads, 'head')}, over "
        f"{plural(int(tally.sentences), 'sentence')} of {corpus.name} ({plural(int(tally.tokens), 'token')})"
    )
    if found.empty:
        yield f"Empty lines: {found.empty:,}."
    if found.skipped:
        yield f"Lines that could not be read, and count for nothing: {found.skipped:,}."
        yield from (f"  line {skipped.line:,}: {skipped.why}" for skipped in found.named[:MOST_TOLD])
        if found.skipped > MOST_TOLD:
            yield f"  … and {found.skipped - MOST_TOLD:,} more"
    for rule in RULES:
        yield ""
        yield from _told_of(tally.of(rule.name), top)


def _told_of(figures: Figures, top: int) -> Iterator[str]:
    rule = figures.rule
    yield f"{rule.name.upper()}: on average a token {rule.words}."
    if not figures.count.any():
        yield f"  no sentence counted (it takes {rule.meaning})"
        return
    least, most = (f"{count:,}" for count in (figures.count.min(), figures.count.max()))
    counted = least if least == most else f"{least} to {most}, by layer,"
    yield f"  counted: {counted} ({rule.meaning})"
    order = np.argsort(-np.nan_to_num(figures.mean, nan=-1), axis=None, kind="stable")[:top]
    for layer, head in zip(*np.unravel_index(order, figures.mean.shape), strict=True):
        mean, deviation, even = (
            _number(float(number), rule)
            for number in (
                figures.mean[layer, head],
                figures.deviation[layer, head],
                figures.baseline[layer],
            )
        )
        if figures.count[layer] == 1:
            deviation = "–"  # one number does not vary
        yield f"  head {head_name(layer, head):<6} {mean:>7} ± {deviation:<7} even attention {even}"


def _none_read(found: Found, entry: Entry, corpus: Corpus) -> str:
    """That there are no figures, and what is wrong with the first lines."""
    reasons = " ".join(f"Line {skipped.line:,}: {skipped.why}" for skipped in found.named[:MOST_REASONS])
    return f"{quoted(entry.name)} can read no sentence of {quoted(corpus.name)}. {reasons}"


def _number(number: float, rule: Rule) -> str:
    return f"{100 * number:.1f} %" if rule.unit == "share" else f"{number:.2f}"


def _corpus(text: Path) -> Corpus:
    return Corpus.from_bytes(sys.stdin.buffer.read(), PIPED) if str(text) == STDIN else Corpus.from_file(text)


def _engine(arguments: argparse.Namespace) -> Engine:
    if arguments.engine == "local":
        if arguments.workers is not None or arguments.address is not None:
            raise AttnvizError("--workers and --address belong to Ray: say --engine ray, or leave them out.")
        return locally
    workers = os.cpu_count() or 1 if arguments.workers is None else arguments.workers
    if workers < 1:
        raise AttnvizError("--workers needs a number of workers: 1 or more.")
    return on_ray.on_ray(workers, arguments.address or on_ray.HERE)


def _check_out(arguments: argparse.Namespace) -> None:
    out: Path | None = arguments.out
    if out is None:
        return
    if out.suffix.lower() == ".npz":
        check_place(out, arguments.force, _is_kept, "file of attnviz heads", ".npz", inputs=[arguments.text])
    else:
        check_place(
            out,
            arguments.force,
            begins_with(HEADER),
            "table of attnviz heads",
            ".csv",
            ".npz",
            inputs=[arguments.text],
        )


def _write(out: Path, corpus: Corpus, entry: Entry, found: Found) -> None:
    if out.suffix.lower() == ".npz":
        findings_file.write(out, job_of(corpus, entry), found)
    else:
        write_table(
            out,
            HEADER,
            (
                (layer, head, rule.name, rule.unit, sentences, *numbers)
                for layer, head, rule, sentences, *numbers in rows(found.tally)
            ),
        )


def _is_kept(file: Path) -> bool:
    try:
        findings_file.read(file)
    except AttnvizError:
        return False
    return True
