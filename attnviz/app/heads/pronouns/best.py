"""Which head is the best: one rule for everything that the page says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.experiments.pronouns import Scores

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
