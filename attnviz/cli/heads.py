"""`heads`: score every head of a model on a test, over many examples."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Annotated, Any

import typer

from attnviz.analysis.intervals import CONFIDENCE
from attnviz.capture import loading
from attnviz.cli import app, output, reading
from attnviz.errors import AttnvizError
from attnviz.experiments import head_tests, on_ray
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.scoring import COLUMNS, HeadTest, Scores, Share, measure, rows
from attnviz.experiments.sentences import check_any_read
from attnviz.models.resolve import with_settings
from attnviz.text import NO_NUMBER, head_name, interval, percent, plural

PIPED = "standard input"
"""Name of standard input in messages."""


@app.command(
    "heads", epilog="Example: python -m attnviz heads --test 'next token' --model minilm --out heads.csv"
)
def run(
    text: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="File of examples in UTF-8 (for rules, one sentence per line), or “-” for standard input "
            "(default: the bundled examples).",
        ),
    ] = None,
    test: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"A test: {', '.join(head_tests.TESTS)}; or a group: rules, pronouns, grammar.",
        ),
    ] = "rules",
    model: reading.Model = "minilm",
    dtype: reading.DType = None,
    device: reading.Device = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Number of heads to print for each test.")] = 5,
    out: output.TableFile = None,
    force: output.Force = False,
    as_json: output.AsJson = False,
    ray: Annotated[int | None, typer.Option(metavar="N", min=1, help="Use N processes with Ray.")] = None,
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="With --ray: address of a running cluster.")
    ] = None,
) -> None:
    """Score every head on a test, over many examples.

    Each score has a confidence interval and a baseline that needs no model. The best head is chosen on one
    half of the examples and scored on the other half. --out writes the scores of all heads.
    """
    model = with_settings(model, dtype, device)
    tests = head_tests.find(test)
    share = _share(ray, address)
    output.check_out(out, force)
    corpus = _corpus(text, tests[0])
    with output.progress() as report:
        entry = loading.open_model(model, report)
    unit = tests[0].source.unit
    with output.progress(log=True) as report:
        for step in measure(tests, corpus, entry.name, share):
            report(f"{step.done:,} of {plural(step.total, unit)}", step.done / step.total)
    first = next(iter(step.found.values()))
    check_any_read(max(each.examples for each in step.found.values()), f"{unit}s", first.reasons)
    parts = [f"{entry.name}, {plural(step.total, unit)} of {corpus.name}"]
    for each in tests:
        parts += ["", *summary(each, step.found[each.name], top)]
    skipped = list(output.skipped_lines(first.reasons, first.skipped))
    table = (row for each in tests for row in rows(each.name, step.found[each.name]))
    text_lines = output.as_text([*parts, *skipped])
    output.print_output(text_lines, COLUMNS, table, as_json=as_json, notes=skipped, out=out)


def summary(test: HeadTest[Any], scores: Scores, top: int) -> Iterator[str]:
    """Yield the lines of one test: its question, the top heads, the baseline and the best head."""
    yield f"{test.name.upper()}: {test.question}."
    if not scores.examples:
        yield "  no scored examples"
        return
    strategy, baseline = scores.baseline
    mean, (low, high) = scores.mean, scores.interval
    table = [("HEAD", "SCORE", f"{100 * CONFIDENCE:g} % CI", "BASELINE", "EXAMPLES")]
    for layer, head in scores.ranking[:top]:
        at = layer, head
        numbers = percent(float(mean[at]), 1), _interval(low[at], high[at]), percent(float(baseline[at]), 1)
        table.append((head_name(*at), *numbers, str(int(scores.count.sum(axis=0)[layer]))))
    yield from (f"  {line}" for line in output.aligned(table).splitlines())
    yield f"  baseline: {strategy}"
    if scores.unfiltered is not None:
        first = scores.ranking[0]
        unfiltered = percent(float(scores.unfiltered[first]), 1)
        yield f"  score of {head_name(*first)} without exclusions: {unfiltered}"
    if best := scores.best:
        score, ends = percent(best.score, 1), _interval(best.low, best.high)
        name, count = head_name(best.layer, best.head), plural(best.examples, "held-out example")
        yield f"  best head on one half of the examples: {name}, {score} ({ends}) on {count}"


def _interval(low: float, high: float) -> str:
    return NO_NUMBER if isnan(low) else interval(float(low), float(high))


def _corpus(text: Path | None, test: HeadTest[Any]) -> Corpus:
    if text is None:
        return Corpus.from_text(test.source.bundled(), "the bundled examples")
    if str(text) == reading.STDIN:
        return Corpus.from_text(sys.stdin.buffer.read().decode("utf-8-sig", "surrogateescape"), PIPED)
    return Corpus.from_file(text)


def _share(ray: int | None, address: str | None) -> Share:
    """Return a function that distributes the work: `map`, or a function that uses Ray.

    Raises:
        AttnvizError: `--address` is used without `--ray`, or Ray is not installed.
    """
    if ray is not None:
        return on_ray.share(ray, address)
    if address is not None:
        raise AttnvizError("--address requires --ray N.")
    return map
