"""`relations`: which head knows the grammar, sort by sort, with the best fixed offset beside it."""

from __future__ import annotations

from typing import Annotated

import typer

from attnviz.analysis.intervals import CONFIDENCE, wilson
from attnviz.cli import app, output, reading
from attnviz.experiments import syntax
from attnviz.experiments.sentences import need_some
from attnviz.experiments.syntax import CALLED, COLUMNS, LOOKS, SORTS, Grammar, Looks
from attnviz.models.resolve import with_settings
from attnviz.text import head_name, interval, part_of, plural


@app.command("relations", epilog="Example: python -m attnviz relations --model minilm --out grammar.csv")
def run(
    model: reading.Model = "minilm",
    dtype: reading.Numbers = None,
    device: reading.Device = None,
    looks: Annotated[
        Looks, typer.Option(help="Who looks: the dependent word at its head word, or that at it.")
    ] = "dependent",
    out: output.TableFile = None,
    force: output.Force = False,
    as_json: output.AsJson = False,
    every: Annotated[
        bool, typer.Option("--all", help="Print all heads, not only the best of each sort.")
    ] = False,
) -> None:
    """How often each head looks from a word to the one it depends on.

    Determiner, possessive, auxiliary, subject, object, preposition: how often is the word that a head looks
    at most the one that it depends on? As in table 1 of Clark et al. 2019.
    """
    model = with_settings(model, dtype, device)
    output.check_out(out, force, output.begins_with(COLUMNS), "table of relations", ".csv")
    kind, trace = reading.reader_of(model)
    *_, end = syntax.measure(syntax.bundled(), trace, kind)
    grammar = end.found
    need_some(grammar.sentences, "sentences", grammar.unread)
    said = summary(model, grammar, looks, None if every else 1)
    rows = syntax.table_rows(grammar, looks)
    output.give(said, COLUMNS, rows, as_json=as_json, beside=output.left_out(grammar.unread), out=out)


def summary(model: str, grammar: Grammar, looks: Looks, most: int | None) -> str:
    """A line for each sort, or for each head and sort; the best heads first."""
    table = [("RELATION", "INSTANCES", "HEAD", "RIGHT", "INTERVAL", "OFFSET", "RIGHT")]
    for sort, name in enumerate(SORTS):
        total = int(grammar.totals[sort])
        offset, by_offset = grammar.best_offset(sort)
        for layer, head in grammar.ranking(sort, looks)[: most if total else 0]:
            right = int(grammar.hits[LOOKS.index(looks), sort, layer, head])
            table.append(
                (
                    CALLED[name],
                    str(total),
                    head_name(layer, head),
                    part_of(right, total),
                    interval(*wilson(right, total)),
                    f"{offset:+d}",
                    part_of(by_offset, total),
                )
            )
    who = "the dependent word looks" if looks == LOOKS[0] else "the word that it depends on looks"
    unread = output.as_text(output.left_out(grammar.unread))
    return (
        f"{model}: {plural(grammar.sentences, 'sentence')}; {who}.\n{unread}\n{output.aligned(table)}\n"
        f"INTERVAL: Wilson, {100 * CONFIDENCE:g} %. OFFSET: the best fixed distance, in words, in these very "
        f"sentences;\nthe best of {grammar.hits[0, 0].size} heads is chosen by them, too.\n"
    )
