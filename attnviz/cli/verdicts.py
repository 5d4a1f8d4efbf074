"""`verdicts`: whether it matters that a head looks where it looks, for every head of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attnviz.capture import loading
from attnviz.cli import app, output, reading
from attnviz.experiments import behaviour, verdicts, verdicts_file
from attnviz.experiments.verdicts import HeadVerdicts, Part, Removed, Verdict
from attnviz.models.resolve import with_settings
from attnviz.text import NO_NUMBER, decimal, head_name, percent

_COLUMNS = (
    *("HEAD", "LABEL", "SHARE", "EFFECT"),
    *(("LOST", "INTERVAL", "OTHERS", "BEYOND", "KEPT", "INTERVAL") * 2),
    "VERDICT",
)


@app.command("verdicts", epilog="Example: python -m attnviz verdicts --model minilm --out verdicts.json")
def run(
    model: reading.Model = "minilm",
    dtype: reading.Numbers = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write, with all numbers (.csv or .json).")
    ] = None,
    force: output.Force = False,
    as_json: output.AsJson = False,
) -> None:
    """Which heads are needed for what they look at, which are a picture only, and which are undecided.

    Each head is named by what it looks at on half of our 400 sentences. On the other half, what it looks at
    is replaced, once with the head and once without it: does it change the output less without? It takes
    minutes. What the words mean stands below the table.
    """
    model = with_settings(model, dtype)
    as_table = out is not None and out.suffix.lower() == ".csv"
    if as_table:
        output.check_out(out, force, output.begins_with(verdicts.COLUMNS), "table of verdicts", ".csv")
    else:
        output.check_out(out, force, output.readable(verdicts_file.read), "file of verdicts", ".json", ".csv")
    with output.progress() as tell:
        entry = loading.open_model(model, tell)
        for step in verdicts.measure(model, behaviour.bundled().splitlines()):
            tell(f"{step.done} of {step.total} readings", step.done / step.total)
    said = summary(model, step.found)
    if out is not None:
        if as_table:
            output.write_table(out, verdicts.COLUMNS, verdicts.table_rows(step.found))
        else:
            verdicts_file.write(out, entry, step.found)
        said += output.written(out)
    output.give(said, verdicts.COLUMNS, verdicts.table_rows(step.found), as_json=as_json)


def summary(model: str, found: HeadVerdicts) -> str:
    """A line for each head, and what the columns mean."""
    table = [_COLUMNS, *map(_cells, found.heads)]
    counted = [f"{sum(each.needed for each in found.heads)} needed"]
    counted.append(f"{sum(each.sufficient for each in found.heads)} sufficient")
    counted += [
        f"{sum(each.stamp == it for each in found.heads)} {it}" for it in ("undecided", "picture only")
    ]
    lines = [
        f"{model}: {len(found.heads)} heads, {', '.join(counted)}.",
        "",
        *output.aligned(table).splitlines(),
        "",
    ]
    lines += output.wrapped(
        "SHARE: what the head scores by its label. EFFECT: how far a token’s output turns (1 − cosine) if "
        "what the label points it at is replaced. LOST: how much less of that without the head; OTHERS: "
        "the median of the other heads of its layer; BEYOND: the interval of how much larger LOST is than "
        "what is lost of the control’s effect; KEPT: of what the layer adds to it, what the head alone "
        f"keeps. First with silent heads, then with their mean. {verdicts.METHOD}"
    )
    return output.as_text(lines)


def _cells(verdict: Verdict) -> tuple[str, ...]:
    name = head_name(verdict.layer, verdict.head)
    if verdict.label is None:
        return (name, "none", *[NO_NUMBER] * (len(_COLUMNS) - 3), NO_NUMBER)
    ways = [cell for way in (verdict.silenced, verdict.averaged) for cell in _removed(way)]
    score, effect = percent(verdict.score), f"{verdict.effect:.4f}"
    return (name, verdict.label.name, score, effect, *ways, verdict.stamp or NO_NUMBER)


def _removed(way: Removed | None) -> tuple[str, ...]:
    if way is None:
        return (NO_NUMBER,) * 6
    others = decimal(100 * way.others, 1)
    return *_part(way.lost), others, _part(way.beyond)[1], *_part(way.kept)


def _part(part: Part | None) -> tuple[str, str]:
    if part is None:
        return NO_NUMBER, NO_NUMBER
    value, low, high = (decimal(100 * each, 1) for each in (part.value, part.low, part.high))
    return value, f"{low} to {high}"
