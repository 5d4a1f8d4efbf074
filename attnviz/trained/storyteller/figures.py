"""Results of a storyteller, and the stored results of each training run."""

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
"""Minimum score, 0 to 1, of a head with a role."""

Heads = tuple[tuple[int, int], ...]


class Copying(NamedTuple):
    """Mean results of a storyteller on repeated random words.

    Attributes:
        previous_word, prefix_matching: [layer, head], as in `copying.HeadScores`.
        right: Accuracy on the repeated words, without the first of them, which is not predictable.
        first_loss: Mean −ln of the correct word's probability at the first occurrence.
        second_loss: The same at the second occurrence, without the first word.
    """

    previous_word: Floats
    prefix_matching: Floats
    right: float
    first_loss: float
    second_loss: float

    @property
    def previous_word_heads(self) -> Heads:
        """Previous-word heads, highest score first; layer and head from 0."""
        return _from_0(with_role(self.previous_word.tolist()))

    @property
    def induction_heads(self) -> Heads:
        """Induction heads, highest score first; layer and head from 0."""
        return _from_0(with_role(self.prefix_matching.tolist()))


class Training(NamedTuple):
    """A training run: name of the size, and seed."""

    variant: str
    seed: int


@dataclass(frozen=True)
class AblatedHeads:
    """Results with some heads ablated together.

    Attributes:
        heads: Layer and head of each, from 1.
        right, prefix_matching: as in `Figures`.
    """

    heads: Heads
    right: Mapping[str, int]
    prefix_matching: list[list[float]]


@dataclass(frozen=True)
class Figures:
    """All results of one storyteller.

    Attributes:
        items: Number of items of each task.
        right: Number of correct answers, by task.
        previous_word, prefix_matching: Scores of each layer's heads.
        ablated: Results without each previous-word head and without all of them, and without each
            induction head and without all of them.
    """

    items: int
    right: Mapping[str, int]
    previous_word: list[list[float]]
    prefix_matching: list[list[float]]
    ablated: tuple[AblatedHeads, ...]

    @property
    def previous_word_heads(self) -> Heads:
        """Previous-word heads, highest score first."""
        return with_role(self.previous_word)

    @property
    def induction_heads(self) -> Heads:
        """Induction heads, highest score first."""
        return with_role(self.prefix_matching)

    def without(self, heads: Heads) -> AblatedHeads:
        """Return the results without these heads, in any order.

        Raises:
            KeyError: there are no such results.
        """
        return {frozenset(each.heads): each for each in self.ablated}[frozenset(heads)]


def with_role(scores: list[list[float]]) -> Heads:
    """Return layer and head, from 1, of all heads with a score of at least `ROLE`, highest first."""
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
    """Return the results of three training runs of each size; the weights of seed 0 are bundled.

    Raises:
        ModelFilesDamaged: the file is missing or damaged.
    """
    try:
        runs = json.loads(FILE.read_text("utf-8"))
        return {Training(run["variant"], int(run["seed"])): _figures(run) for run in runs}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelFilesDamaged(
            f"The results in {FILE.name} are missing or damaged. Install attnviz again."
        ) from error


def _figures(run: Mapping[str, Any]) -> Figures:
    ablated = tuple(
        AblatedHeads(
            tuple((layer, head) for layer, head in each["heads"]), each["right"], each["prefix_matching"]
        )
        for each in run["ablated"]
    )
    return Figures(run["items"], run["right"], run["previous_word"], run["prefix_matching"], ablated)
