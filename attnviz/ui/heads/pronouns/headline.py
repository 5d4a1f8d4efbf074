"""The main finding in a few sentences: which head is best, and why a coin that resolves more knows less."""

from __future__ import annotations

from attnviz.analysis.intervals import CONFIDENCE
from attnviz.heads.pronouns import Baseline, Looks, Scores
from attnviz.ui.heads.pronouns.figures import HARDLY, fine, interval, luck, name_of, share, whom


def best(scores: Scores) -> tuple[tuple[int, int], ...]:
    """The best of the heads that look there, and the best of all if it is another; layer and head from 0.

    Where no head looks there, the best of all is alone.
    """
    ranking = scores.ranking
    looking = [each for each in ranking if scores.given[each] >= HARDLY]
    return tuple(dict.fromkeys([*looking[:1], ranking[0]]))


def paragraphs(
    scores: Scores, looks: Looks, nearest: Baseline, coin: Baseline, *, finished: bool
) -> tuple[str, ...]:
    """What to say of these heads, in Markdown.

    Args:
        scores: of one pair at least.
        looks: whose weights were read.
        nearest, coin: what they are compared with.
        finished: whether all pairs have been read.
    """
    leader, *others = best(scores)
    return (
        _leads(scores, leader, looks, nearest, "" if finished else " so far"),
        _beside_a_coin(scores, leader, coin),
        *(_resolves_most(scores, each, leader, looks) for each in others),
    )


def _leads(scores: Scores, leader: tuple[int, int], looks: Looks, nearest: Baseline, so_far: str) -> str:
    looking = int((scores.given >= HARDLY).sum())
    enough = f"{whom(looks)} {share(HARDLY, 1)} or more of"
    if looking > 1:
        among = f"the most of the {looking} heads that give {enough} their weight; this one gives"
    elif looking:
        among = f"and is the only head that gives {enough} its weight:"
    else:
        among = f"the most of all; but no head gives {enough} its weight, this one"
    pairs, total = int(scores.pairs[leader]), scores.total
    return (
        f"**Head {name_of(leader)} resolves {pairs} of {total} pairs{so_far}, {share(pairs, total)}** "
        f"({100 * CONFIDENCE:g} % interval {interval(pairs, total)}), {among} "
        f"{fine(float(scores.given[leader]))}. Always the nearest noun: {share(nearest.pairs, 1)}."
    )


def _beside_a_coin(scores: Scores, leader: tuple[int, int], coin: Baseline) -> str:
    right, turns, total = int(scores.pairs[leader]), int(scores.turns[leader]), scores.total
    more = f"more, {share(coin.pairs, 1)}, only" if coin.pairs > right / total else share(coin.pairs, 1)
    told = (
        f"A coin for each sentence would resolve {more} because it changes sides in every second pair, half "
        f"of the times the right way. Head {name_of(leader)} changes sides in "
    )
    if not turns:
        return f"{told}none."
    seldom = "only " if 2 * turns < total else ""
    return (
        f"{told}{seldom}{turns} of {total}, **{right} times the right way**; blindly, it would be half. "
        f"{luck(scores, leader)}"
    )


def _resolves_most(scores: Scores, most: tuple[int, int], leader: tuple[int, int], looks: Looks) -> str:
    resolved = int(scores.pairs[most])
    told = "as many" if resolved == scores.pairs[leader] else f"{resolved}, the most of all"
    return (
        f"Head {name_of(most)} resolves {told}, but gives {whom(looks)} only "
        f"{fine(float(scores.given[most]))} of its weight: it hardly looks there."
    )
