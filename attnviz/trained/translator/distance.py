"""Stored results: accuracy of recurrent networks and a transformer by the distance from "it" to its noun."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from attnviz.trained.translator.variants import WEIGHTS

Name = Literal["lstm", "lstm_attention", "transformer"]

NAMES: tuple[Name, ...] = ("lstm", "lstm_attention", "transformer")

FILE = WEIGHTS / "distances.json"


@dataclass(frozen=True)
class Run:
    """One training run of one network.

    Attributes:
        learning_rate, seed, steps: Settings that differ between runs.
        tuned: Number of correctly translated validation sentences, by which the learning rate is chosen.
        exact: Number of exactly correct translations, for 0, 1, 2 … inserted clauses.
        pronoun: Number of sentences in which the correct pronoun, "il" or "elle", is more likely, given the
            preceding words of the reference, for 0, 1, 2 … inserted clauses.
    """

    name: Name
    learning_rate: float
    seed: int
    steps: int
    tuned: int
    exact: Sequence[int]
    pronoun: Sequence[int]


@dataclass(frozen=True)
class Distances:
    """Results of all training runs.

    Attributes:
        sentences: Number of test sentences for each number of clauses.
        max_trained_clauses: Maximum number of clauses in training sentences.
        words: Mean distance between "it" and its referent for 0, 1, 2 … inserted clauses.
        runs: All training runs.
    """

    sentences: int
    max_trained_clauses: int
    words: Sequence[float]
    runs: Sequence[Run]

    def chosen(self, name: Name) -> list[Run]:
        """Return a network's training runs with its best learning rate, sorted by seed.

        The best rate has the most correct validation sentences, summed over seeds.
        """
        runs = sorted(
            (run for run in self.runs if run.name == name), key=lambda run: (-run.learning_rate, run.seed)
        )
        by_rate = [list(group) for _, group in groupby(runs, key=lambda run: run.learning_rate)]
        return max(by_rate, key=lambda group: sum(run.tuned for run in group))


def read() -> Distances:
    """Read the stored results."""
    stored = json.loads(FILE.read_text("utf-8"))
    return Distances(**{**stored, "runs": [Run(**run) for run in stored["runs"]]})
