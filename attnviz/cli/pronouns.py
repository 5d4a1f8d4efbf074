"""`pronouns`: which head resolves the pronoun, as a table of all heads with intervals and baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attnviz.analysis.intervals import CONFIDENCE, expected_best, wilson
from attnviz.cli import app, output, reading
from attnviz.errors import AttnvizError
from attnviz.experiments import coreference, pairs
from attnviz.experiments.coreference import COLUMNS, Looks, Scores, Verdicts
from attnviz.experiments.sentences import need_some
from attnviz.models.resolve import with_settings
from attnviz.text import head_name, interval, part_of, percent, plural


@app.command(
    "pronouns",
    epilog="Example: python -m attnviz pronouns --model minilm --out heads.csv. A line of --pairs: "
    f"{pairs.EXAMPLE}",
)
def run(
    pairs_file: Annotated[
        Path | None,
        typer.Option(
            "--pairs",
            metavar="FILE",
            help="Other pairs, one a line, written as attnviz/experiments/pairs.txt explains.",
        ),
    ] = None,
    model: reading.Model = "minilm",
    dtype: reading.Numbers = None,
    device: reading.Device = None,
    looks: Annotated[
        Looks, typer.Option(help="Who looks: the pronoun at the two nouns, or they at the pronoun.")
    ] = "pronoun",
    out: output.TableFile = None,
    force: output.Force = False,
    as_json: output.AsJson = False,
) -> None:
    """How often each head looks at what a pronoun stands for.

    Pairs of sentences differ in a word or a few, which decide what the pronoun stands for. For every head: in
    how many pairs is it right in both sentences, and in how many sentences?
    """
    model = with_settings(model, dtype, device)
    inputs = [] if pairs_file is None else [pairs_file]
    output.check_out(out, force, output.begins_with(COLUMNS), "table of heads", ".csv", inputs=inputs)
    every = pairs.bundled() if pairs_file is None else pairs.read(pairs_file)
    kind, trace = reading.reader_of(model)
    if kind == "decoder" and looks != "pronoun":
        raise AttnvizError(
            "The nouns stand before the pronoun, and this model looks only back: --looks pronoun."
        )
    with output.progress() as tell:
        for step in coreference.resolve(every, trace, kind):
            tell(f"{step.done} of {step.total} pairs", step.done / step.total)
    found = step.found
    need_some(len(found.pairs), "pairs", found.unread)
    scores = found.scores(looks)
    said, rows = summary(model, found, scores, looks == "pronoun"), coreference.table_rows(scores)
    output.give(said, COLUMNS, rows, as_json=as_json, beside=output.left_out(found.unread), out=out)


def summary(model: str, found: Verdicts, scores: Scores, pronoun_looks: bool) -> str:
    """The table of all heads, best first, and what to compare it with."""
    sentences = 2 * scores.total
    table = [
        ("HEAD", "BOTH RIGHT", "", "INTERVAL", "SENTENCES", "", "INTERVAL", "WRONG", "LEANS", "", "WEIGHT")
    ]
    for layer, head in scores.ranking:
        both, each = int(scores.pairs[layer, head]), int(scores.sentences[layer, head])
        table.append(
            (
                head_name(layer, head),
                str(both),
                part_of(both, scores.total),
                interval(*wilson(both, scores.total)),
                str(each),
                part_of(each, sentences),
                interval(*wilson(each, sentences)),
                str(scores.wrong[layer, head]),
                str(scores.leans[layer, head]),
                part_of(int(scores.leans[layer, head]), scores.total),
                part_of(float(scores.given[layer, head]), 1),
            )
        )
    who = "the pronoun looks at the two nouns" if pronoun_looks else "the two nouns look at the pronoun"
    lines = [
        f"{model}: {plural(scores.total, 'pair')}, {plural(sentences, 'sentence')}; {who}.",
        *output.left_out(found.unread),
        "",
    ]
    lines += output.aligned(table).splitlines()
    lines += [""] + [
        f"Baseline, {each.name}: both right {percent(each.pairs, 1)}, sentences {percent(each.sentences, 1)}."
        for each in coreference.baselines(found.pairs)
    ]
    lines += [""] + [part for line in by_chance(scores) for part in output.wrapped(line)]
    return output.as_text(lines)


def by_chance(scores: Scores) -> list[str]:
    """What the best head owes to being the best of many."""
    heads = scores.pairs.size
    layer, head = scores.ranking[0]
    coins = expected_best([scores.total] * heads, 1 / 4)
    coins_sentences = expected_best([2 * scores.total] * heads, 1 / 2)
    right, turns = scores.pairs[layer, head], scores.turns[layer, head]
    columns = (
        "BOTH RIGHT: in how many pairs the right noun has more weight in both sentences. SENTENCES: in how "
        "many sentences. WRONG: in how many pairs the wrong noun has more in both. LEANS: in how many pairs "
        "each noun has a larger share where it is meant. WEIGHT: how much of its weight the head gives to "
        f"what is compared, on average. INTERVAL: Wilson, {100 * CONFIDENCE:g} %, of each head by itself."
    )
    best = (
        f"The best of {heads} independent coins would be right in both sentences of "
        f"{part_of(coins, scores.total)} of the pairs, and in "
        f"{part_of(coins_sentences, 2 * scores.total)} of all sentences. Heads are no coins: most "
        "prefer the same noun in both sentences."
    )
    luck = (
        f"Head {head_name(layer, head)} changes sides in {turns} pairs, {right} times the right way. If all "
        "heads changed sides as often as they do, but blindly, the best would be right in both sentences of "
        f"{scores.best_by_chance:.1f} pairs on average. {right} right turns of {turns} have a probability of "
        f"at most {scores.by_chance(layer, head):.2g} (sign test, corrected for {heads} heads)."
    )
    return [columns, best, luck]
