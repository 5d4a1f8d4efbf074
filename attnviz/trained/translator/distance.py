"""How many translations of recurrent networks and a transformer are right by distance: the stored results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator.variants import WEIGHTS

Name = Literal["lstm", "lstm_attention", "transformer"]

NAMES: tuple[Name, ...] = ("lstm", "lstm_attention", "transformer")

FILE = WEIGHTS / "distances.json"


@dataclass(frozen=True)
class Point:
    """How one trained network does on sentences of one length.

    Attributes:
        exact: how many of its translations are right, word for word.
        pronoun: in how many, after all that is right before it, the right one of "il" and "elle" is the more
            probable one.
    """

    exact: int
    pronoun: int


@dataclass(frozen=True)
class Run:
    """One training of one network.

    Attributes:
        learning_rate, seed, steps: the settings that differ from training to training.
        tuned: how many of the sentences to tune on are translated right in the end; the learning rate is
            chosen by it.
        points: for 0, 1, 2 … inserted clauses.
    """

    name: Name
    learning_rate: float
    seed: int
    steps: int
    tuned: int
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Distances:
    """All that was measured.

    Attributes:
        sentences: how many for each number of clauses.
        max_trained_clauses: the most clauses in the sentences that the networks learned from.
        words: for 0, 1, 2 … inserted clauses: how far "it" is from the noun that it means, on average.
        runs: every training.
    """

    sentences: int
    max_trained_clauses: int
    words: tuple[float, ...]
    runs: tuple[Run, ...]

    def chosen(self, name: Name) -> list[Run]:
        """Return a network's trainings with its best learning rate, by seed.

        The best rate is the one with which most sentences to tune on are right, over all seeds together.

        Raises:
            ValueError: the network was not trained.
        """
        runs = sorted(
            (run for run in self.runs if run.name == name), key=lambda run: (-run.learning_rate, run.seed)
        )
        by_rate = [list(some) for _, some in groupby(runs, key=lambda run: run.learning_rate)]
        return max(by_rate, key=lambda some: sum(run.tuned for run in some))


def read() -> Distances:
    """Read what was measured.

    Raises:
        ModelFilesDamaged: the file is missing or damaged.
    """
    try:
        stored = json.loads(FILE.read_text("utf-8"))
        return Distances(
            stored["sentences"],
            stored["max_trained_clauses"],
            tuple(stored["words"]),
            tuple(map(_run, stored["runs"])),
        )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ModelFilesDamaged(f"{FILE.name} is missing or damaged. Install attnviz again.") from error


def _run(stored: dict[str, Any]) -> Run:
    points = tuple(Point(point["exact"], point["pronoun"]) for point in stored["points"])
    tuned = stored["curve"][-1]["exact"]
    return Run(stored["name"], stored["learning_rate"], stored["seed"], stored["steps"], tuned, points)
