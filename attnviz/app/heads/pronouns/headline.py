"""The main finding in a few sentences: which head is best, and why a coin that resolves more knows less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.analysis.intervals import CONFIDENCE
from attnviz.app import markdown
from attnviz.app.heads.pronouns.figures import MOST_NAMED, few, fine, interval, luck, names, share, whom
from attnviz.experiments.coreference import Baseline, Looks, Scores, Verdicts
from attnviz.text import joined, plural


def read(found: Verdicts, *, finished: bool) -> tuple[str, ...]:
    """How many pairs, one at least, stand behind what follows, in Markdown.

    Nothing, once all are looked at, where all were read, and there are many.
    """
    pairs, left = len(found.pairs), len(found.unread) // 2
    said = []
    if left == 1 and not pairs and finished:
        return (f"**The only pair was not read:** {markdown.plain(found.unread[0].why)}",)
    if left:
        few_read = ("Only " if few(pairs) else "") + str(pairs) if pairs else "None"
        of_all = plural(pairs + left, "pair") if finished else f"first {plural(pairs + left, 'pair')}"
        others = ("The other one is" if left == 1 else f"The other {left} are") if pairs else "All are"
        first = "" if left == 1 else ", the first"
        why = markdown.plain(found.unread[0].why)
        said.append(
            f"**{few_read} of the {of_all} {'was' if pairs == 1 else 'were'} read.** "
            f"{others} left out{first} because: {why}"
        )
    elif few(pairs):
        said.append(
            f"**There {'is' if pairs == 1 else 'are'} only {plural(pairs, 'pair')}{_so_far(finished)}.**"
        )
    if pairs and few(pairs):
        said.append("So few say little of a model: take what follows as an example, not as a measurement.")
    return (" ".join(said),) if said else ()


def paragraphs(
    scores: Scores, looks: Looks, nearest: Baseline, coin: Baseline, *, finished: bool
) -> tuple[str, ...]:
    """What to say of these heads, scored on one pair at least, in Markdown."""
    found = best(scores)
    if not found.heads:
        return (_none(scores, looks, finished),)
    return _lead(scores, found.heads, looks, nearest, finished), _beside_a_coin(scores, found.heads, coin)


def claim(scores: Scores, looks: Looks, nearest: Baseline, *, finished: bool) -> str:
    """The finding in a few sentences, in Markdown: which head is the best, beside whom, and why no other."""
    found = best(scores)
    if not found.heads:
        return _none(scores, looks, finished)
    first, total, several = found.heads[0], scores.total, len(found.heads) > 1
    pairs, turns = int(scores.pairs[first]), int(scores.turns[first])
    only, bold = ("only ", "") if few(total) else ("", "**")
    told = (
        f"{bold}{names(found.heads).capitalize()} {'each resolve' if several else 'resolves'} {pairs} of "
        f"{only}{plural(total, 'pair')}{_so_far(finished)}, more than any other head that gives "
        f"{_enough(looks)} its weight.{bold}"
    )
    said = [told, f"Always the nearest noun: {share(nearest.pairs, 1)}."]
    if not several:
        said.append(
            f"In {plural(turns, 'pair')} it chooses one noun in one sentence and the other in the other, "
            f"{plural(pairs, 'time')} the right way round; blindly, it would be half."
        )
    if found.others:
        said.append(_not_the_best(scores, found.others, looks, found.heads))
    return " ".join(said)


def _none(scores: Scores, looks: Looks, finished: bool) -> str:
    which = f"that gives {_enough(looks)} its weight " if (scores.given >= HARDLY).any() else ""
    pairs = "the pair" if scores.total == 1 else f"any of the {scores.total} pairs"
    return f"**No head {which}resolves {pairs}{_so_far(finished)}.**"


def _lead(scores: Scores, heads: Sequence[Head], looks: Looks, nearest: Baseline, finished: bool) -> str:
    several = len(heads) > 1
    looking = int((scores.given >= HARDLY).sum())
    given = [float(scores.given[each]) for each in heads]
    gives = joined([fine(each) for each in given])
    if len(heads) > MOST_NAMED:
        gives = f"{fine(min(given))} to {fine(max(given))}"
    this = f"{'they give' if several else 'it gives'} {gives}"
    if looking > 1:
        among = f"the most of the {looking} heads that give {_enough(looks)} their weight; {this}"
    elif looking:
        among = f"as the only head that gives {_enough(looks)} its weight; {this}"
    else:
        among = f"the most of all, though no head gives {_enough(looks)} its weight; {this}"
    pairs, total = int(scores.pairs[heads[0]]), scores.total
    resolves = "each resolves" if several else "it resolves"
    if few(total):
        told = (
            f"Here {names(heads)} {'resolve' if several else 'resolves'} {pairs} of only "
            f"{plural(total, 'pair')}{_so_far(finished)} ("
        )
    else:
        is_best = "are the best" if several else "is the best"
        told = (
            f"**{names(heads).capitalize()} {is_best}{_so_far(finished)}: {resolves} {pairs} of {total} "
            f"pairs, {share(pairs, total)}** ("
        )
    return (
        f"{told}{100 * CONFIDENCE:g} % interval {interval(pairs, total)}), {among}. "
        f"Always the nearest noun: {share(nearest.pairs, 1)}."
    )


def _beside_a_coin(scores: Scores, heads: Sequence[Head], coin: Baseline) -> str:
    right, total = int(scores.pairs[heads[0]]), scores.total
    more = f"more, {share(coin.pairs, 1)}, only" if coin.pairs > right / total else share(coin.pairs, 1)
    coins = (
        f"A coin for each sentence would resolve {more} because it changes sides in every second pair, half "
        "of the times the right way."
    )
    told, bold = [coins], "" if few(total) else "**"
    for these in alike(scores, heads):
        turns = int(scores.turns[these[0]])
        seldom = "only " if 2 * turns < total else ""
        change = "each change" if len(these) > 1 else "changes"
        told.append(
            f"{names(these).capitalize()} {change} sides in {seldom}{turns} of {total}, "
            f"{bold}{plural(right, 'time')} the right way{bold}; blindly, it would be half. "
            f"{luck(scores, these[0])}"
        )
    return " ".join(told)


def _not_the_best(scores: Scores, others: Sequence[Head], looks: Looks, heads: Sequence[Head]) -> str:
    """Why those that resolve as many pairs or more are not the best."""
    most = int(scores.pairs[heads[0]]) if heads else 0
    counts = [int(scores.pairs[each]) for each in others]
    as_many = "as many" if max(counts) == most else "as many or more" if min(counts) == most else "more"
    if len(others) > 1:
        return (
            f"{names(others).capitalize()} resolve {as_many}, but are not the best: none gives "
            f"{_enough(looks)} its weight, so they hardly look there."
        )
    resolves = as_many if as_many == "as many" else str(counts[0])
    return (
        f"{names(others).capitalize()} resolves {resolves}, but is not the best: it gives {whom(looks)} only "
        f"{fine(float(scores.given[others[0]]))} of its weight, so it hardly looks there."
    )


def _enough(looks: Looks) -> str:
    return f"{whom(looks)} {share(HARDLY, 1)} or more of"


def _so_far(finished: bool) -> str:
    return "" if finished else " so far"


HARDLY = 0.05
"""A head that gives less of its weight than this hardly looks there."""

Head = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Best:
    """Heads as layer and head from 0, in the order of the ranking.

    Attributes:
        heads: those that resolve most pairs of all that look there, several if they tie; where none looks
            there, of all heads. None if that would be no pair at all.
        others: those that resolve as many or more, but hardly look there.
    """

    heads: tuple[Head, ...]
    others: tuple[Head, ...]


def best(scores: Scores) -> Best:
    """The best heads, and those that one could take for them."""
    look = scores.given >= HARDLY
    counted = look if look.any() else np.ones_like(look)
    most = int(scores.pairs[counted].max())
    found = [each for each in scores.ranking if scores.pairs[each] >= max(most, 1)]
    return Best(
        tuple(each for each in found if counted[each]), tuple(each for each in found if not counted[each])
    )


def alike(scores: Scores, heads: Sequence[Head]) -> list[tuple[Head, ...]]:
    """The heads in groups that change sides equally often: of such, luck says the same."""
    turns = dict.fromkeys(int(scores.turns[each]) for each in heads)
    return [tuple(each for each in heads if scores.turns[each] == number) for number in turns]
