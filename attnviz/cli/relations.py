"""`relations`: which head knows the grammar, sort by sort, with the best fixed offset beside it."""

from __future__ import annotations

import argparse

from attnviz.analysis.intervals import CONFIDENCE, wilson
from attnviz.cli import head_table
from attnviz.cli.columns import aligned, interval, plural, share
from attnviz.errors import AttnvizError
from attnviz.experiments import relations
from attnviz.experiments.relations import CALLED, LOOKS, SORTS, Grammar, Looks
from attnviz.trace import head_name

HEADER = (
    *("relation", "layer", "head", "instances", "right", "share", "low", "high"),
    *("best_offset", "offset_share"),
)
"""The columns of the file; shares are 0 to 1, layer and head count from 1."""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `relations` to the command line."""
    command = commands.add_parser(
        "relations",
        help="how often each head looks from a word to the one that it depends on",
        description="Determiner, possessive, auxiliary, subject, object, preposition: how often is the word "
        "that a head looks at most the one that it depends on? As in table 1 of Clark et al. 2019.",
        epilog="example: python -m attnviz relations --model minilm --out grammar.csv",
    )
    head_table.add_choices(command, LOOKS, "the dependent word at its head word, or that at it")
    command.add_argument("--all", action="store_true", help="print all heads, not only the best of each sort")
    command.set_defaults(run=run_relations)


def run_relations(arguments: argparse.Namespace) -> None:
    """Read the sentences, write the table, and print it."""
    head_table.check_out(arguments, HEADER, "table of relations")
    kind, trace = head_table.opened(arguments.model)
    *_, end = relations.measure(relations.bundled(), trace, kind)
    grammar = end.found
    if not grammar.sentences:
        raise AttnvizError(f"The model can read none of the sentences. {grammar.unread[0].why}")
    said = told(arguments.model, grammar, arguments.looks, None if arguments.all else 1)
    head_table.give(said, arguments.out, HEADER, rows(grammar, arguments.looks))


def told(model: str, grammar: Grammar, looks: Looks, most: int | None) -> str:
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
                    share(right, total),
                    interval(*wilson(right, total)),
                    f"{offset:+d}",
                    share(by_offset, total),
                )
            )
    who = "the dependent word looks" if looks == LOOKS[0] else "the word that it depends on looks"
    unread = f", {len(grammar.unread)} more could not be read" if grammar.unread else ""
    return (
        f"{model}: {plural(grammar.sentences, 'sentence')}{unread}; {who}.\n\n{aligned(table)}\n"
        f"INTERVAL: Wilson, {100 * CONFIDENCE:g} %. OFFSET: the best fixed distance, in words, in these very "
        f"sentences;\nthe best of {grammar.hits[0, 0].size} heads is chosen by them, too.\n"
    )


def rows(grammar: Grammar, looks: Looks) -> list[tuple[str | int | float, ...]]:
    """The lines of the file: every head for every sort, best first."""
    lines: list[tuple[str | int | float, ...]] = []
    for sort, name in enumerate(SORTS):
        if not (total := int(grammar.totals[sort])):
            continue
        offset, by_offset = grammar.best_offset(sort)
        for layer, head in grammar.ranking(sort, looks):
            right = int(grammar.hits[LOOKS.index(looks), sort, layer, head])
            shares = (right / total, *wilson(right, total))
            lines.append(
                (
                    *(name, layer + 1, head + 1, total, right),
                    *(round(each, 6) for each in shares),
                    *(offset, round(by_offset / total, 6)),
                )
            )
    return lines
