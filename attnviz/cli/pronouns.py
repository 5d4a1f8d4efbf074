"""`pronouns`: which head resolves the pronoun, as a table of all heads with intervals and baselines."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from attnviz.analysis.intervals import CONFIDENCE, expected_best, wilson
from attnviz.analysis.shown import visible_text
from attnviz.cli import head_table
from attnviz.cli.columns import aligned, interval, plural, share
from attnviz.cli.telling import show_bar
from attnviz.errors import AttnvizError
from attnviz.experiments import pairs, pronouns
from attnviz.experiments.one_by_one import Unread
from attnviz.experiments.progress import Progress
from attnviz.experiments.pronouns import LOOKS, Scores, Verdicts
from attnviz.trace import head_name

HEADER = (
    *("layer", "head", "pairs", "both_right", "both_right_share", "both_right_low", "both_right_high"),
    *("sentences_right", "sentences_right_share", "sentences_right_low", "sentences_right_high"),
    *("both_wrong", "leans", "weight"),
)
"""The columns of the file; shares are 0 to 1, layer and head count from 1."""

_WIDTH = 100  # characters of a line

MOST_NAMED = 3
"""How many of the sentences that could not be read are named."""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pronouns` to the command line."""
    command = commands.add_parser(
        "pronouns",
        help="how often each head looks at the word that a pronoun stands for",
        description="Pairs of sentences differ in a word or a few, which decide what the pronoun stands for. "
        "For every head: in how many pairs is it right in both sentences, and in how many sentences?",
        epilog="example: python -m attnviz pronouns --model minilm --out heads.csv. A line of --pairs: "
        f"{pairs.EXAMPLE}",
    )
    command.add_argument(
        "--pairs",
        type=Path,
        metavar="FILE",
        help="other pairs, one a line, written as attnviz/experiments/pairs.txt explains",
    )
    head_table.add_choices(command, LOOKS, "the pronoun at the two nouns, or they at the pronoun")
    command.set_defaults(run=run_pronouns)


def run_pronouns(arguments: argparse.Namespace) -> None:
    """Read the pairs, write the table, and print it."""
    inputs = [] if arguments.pairs is None else [arguments.pairs]
    head_table.check_out(arguments, HEADER, "table of heads", inputs)
    asked = pairs.bundled() if arguments.pairs is None else pairs.read(arguments.pairs)
    kind, trace = head_table.opened(arguments.model)
    if kind == "decoder" and arguments.looks != LOOKS[0]:
        raise AttnvizError(
            "The nouns stand before the pronoun, and this model looks only back: --looks pronoun."
        )
    found = last(pronouns.resolve(asked, trace, kind), "pairs")
    if not found.pairs:
        raise AttnvizError(f"Of {plural(len(asked), 'pair')} the model can read none. {found.unread[0].why}")
    scores = found.scores(arguments.looks)
    said = told(arguments.model, found, scores, arguments.looks == "pronoun")
    head_table.give(said, arguments.out, HEADER, rows(scores))


def last(steps: Iterable[Progress[pronouns.Verdicts]], unit: str) -> Verdicts:
    """What was found in the end, with a bar on the way where somebody watches."""
    found = None
    for step in steps:
        found = step.found
        if sys.stderr.isatty():
            show_bar(step.done / step.total, f"{step.done} of {step.total} {unit}\033[K", sys.stderr)
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    assert found is not None  # noqa: S101 - there is at least one pair; for the type checker
    return found


def told(model: str, found: Verdicts, scores: Scores, pronoun_looks: bool) -> str:
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
                share(both, scores.total),
                interval(*wilson(both, scores.total)),
                str(each),
                share(each, sentences),
                interval(*wilson(each, sentences)),
                str(scores.wrong[layer, head]),
                str(scores.leans[layer, head]),
                share(int(scores.leans[layer, head]), scores.total),
                share(float(scores.given[layer, head]), 1),
            )
        )
    who = "the pronoun looks at the two nouns" if pronoun_looks else "the two nouns look at the pronoun"
    lines = [
        f"{model}: {plural(scores.total, 'pair')}, {plural(sentences, 'sentence')}; {who}.",
        *_unread(found.unread),
        "",
    ]
    lines += aligned(table).splitlines()
    lines += [""] + [
        f"Baseline, {each.name}: both right {100 * each.pairs:.1f} %, sentences {100 * each.sentences:.1f} %."
        for each in pronouns.baselines(found.pairs)
    ]
    lines += [""] + [part for line in by_chance(scores) for part in textwrap.wrap(line, _WIDTH)]
    return "".join(f"{visible_text(line)}\n" for line in lines)


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
        f"{share(coins, scores.total)} of the pairs, and in {share(coins_sentences, 2 * scores.total)} of "
        "all sentences. Heads are no coins: most prefer the same noun in both sentences."
    )
    luck = (
        f"Head {head_name(layer, head)} changes sides in {turns} pairs, {right} times the right way. If all "
        "heads changed sides as often as they do, but blindly, the best would be right in both sentences of "
        f"{scores.best_by_chance:.1f} pairs on average. {right} right turns of {turns} have a probability of "
        f"at most {scores.by_chance(layer, head):.2g} (sign test, corrected for {heads} heads)."
    )
    return [columns, best, luck]


def rows(scores: Scores) -> list[tuple[int | float, ...]]:
    """The lines of the file, best first."""
    lines: list[tuple[int | float, ...]] = []
    for layer, head in scores.ranking:
        both, each = int(scores.pairs[layer, head]), int(scores.sentences[layer, head])
        lines.append(
            (
                *(layer + 1, head + 1, scores.total),
                *_digits(both, scores.total),
                *_digits(each, 2 * scores.total),
                int(scores.wrong[layer, head]),
                int(scores.leans[layer, head]),
                round(float(scores.given[layer, head]), 6),
            )
        )
    return lines


def _digits(right: int, total: int) -> tuple[int | float, ...]:
    return (right, *(round(each, 6) for each in (right / total, *wilson(right, total))))


def _unread(unread: Sequence[Unread]) -> list[str]:
    """How many sentences were left out, and the first of them."""
    if not unread:
        return []
    named = [f"  {each.text} {each.why}" for each in unread[:MOST_NAMED]]
    more = len(unread) - len(named)
    return [
        f"{len(unread)} more sentences were left out:",
        *named,
        *([f"  … and {more} more."] if more else []),
    ]
