"""What is measured of a storyteller, and the stored figures of each training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from attnviz.errors import ModelFilesDamaged
from attnviz.trace import Floats
from attnviz.trained.storyteller.sizes import WEIGHTS

FILE = WEIGHTS / "figures.json"

ROLE = 0.4
"""A head whose score is at least this has the role that the score is of; the scores are 0 to 1."""

Heads = tuple[tuple[int, int], ...]


class Copying(NamedTuple):
    """Results of a storyteller on repeated random words, on average over many.

    Attributes:
        previous_word, prefix_matching: [layer, head], as in `copying.HeadScores`.
        right: how often the right word is the likeliest one, of the repeated words; not of the
            first of them, before which nothing shows that they will be.
        first_loss: −ln of the right word's probability, on average, at the words' first occurrence.
        second_loss: at their second occurrence, without the first of them.
    """

    previous_word: Floats
    prefix_matching: Floats
    right: float
    first_loss: float
    second_loss: float

    @property
    def previous_word_heads(self) -> Heads:
        """The heads that attend to the word before, the clearest first; layer and head from 0."""
        return _from_0(with_role(self.previous_word.tolist()))

    @property
    def induction_heads(self) -> Heads:
        """The heads that attend to the word that followed the last time, as above."""
        return _from_0(with_role(self.prefix_matching.tolist()))


class Training(NamedTuple):
    """Which training: the name of a size, and the seed."""

    variant: str
    seed: int


@dataclass(frozen=True)
class AblatedHeads:
    """What is left when some heads are ablated together.

    Attributes:
        heads: layer and head of each, from 1.
        right, prefix_matching: as in `Figures`.
    """

    heads: Heads
    right: Mapping[str, int]
    prefix_matching: list[list[float]]


@dataclass(frozen=True)
class Figures:
    """All that is measured of one storyteller.

    Attributes:
        items: how many of each task.
        right: how many of them are answered right, by task.
        previous_word, prefix_matching: the scores of each layer's heads.
        ablated: what is left without each previous-word head and without all of them, and then without each
            induction head and without all of them.
    """

    items: int
    right: Mapping[str, int]
    previous_word: list[list[float]]
    prefix_matching: list[list[float]]
    ablated: tuple[AblatedHeads, ...]

    @property
    def previous_word_heads(self) -> Heads:
        """The heads with that role, the clearest first."""
        return with_role(self.previous_word)

    @property
    def induction_heads(self) -> Heads:
        """The heads with that role, the clearest first."""
        return with_role(self.prefix_matching)

    def without(self, heads: Heads) -> AblatedHeads:
        """What is left without these heads, in any order.

        Raises:
            KeyError: that was not measured.
        """
        return {frozenset(each.heads): each for each in self.ablated}[frozenset(heads)]


def with_role(scores: list[list[float]]) -> Heads:
    """Layer and head, from 1, of all whose score is at least `ROLE`, the largest first."""
    found = [
        (-score, layer, head)
        for layer, row in enumerate(scores, 1)
        for head, score in enumerate(row, 1)
        if score >= ROLE
    ]
    return tuple((layer, head) for _, layer, head in sorted(found))


def _from_0(heads: Heads) -> Heads:
    return tuple((layer - 1, head - 1) for layer, head in heads)


def stored() -> dict[Training, Figures]:
    """Return the figures of three trainings of each size; the weights of seed 0 come with attnviz.

    Raises:
        ModelFilesDamaged: the file is missing or damaged.
    """
    try:
        runs = json.loads(FILE.read_text("utf-8"))
        return {Training(run["variant"], int(run["seed"])): _figures(run) for run in runs}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelFilesDamaged(
            f"The figures in {FILE.name} are missing or damaged. Install attnviz again."
        ) from error


def _figures(run: Mapping[str, Any]) -> Figures:
    ablated = tuple(
        AblatedHeads(
            tuple((layer, head) for layer, head in each["heads"]), each["right"], each["prefix_matching"]
        )
        for each in run["ablated"]
    )
    return Figures(run["items"], run["right"], run["previous_word"], run["prefix_matching"], ablated)
