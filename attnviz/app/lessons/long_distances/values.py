"""Stored results of three networks: fractions of correct translations by distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.trace import Doubles
from attnviz.trained.translator.distance import Distances, Name


@dataclass(frozen=True, eq=False)
class Results:
    """The results of one network, with its best learning rate.

    Attributes:
        learning_rate: The best learning rate.
        exact: [seed, distance], fraction of fully correct translations.
        pronoun: [seed, distance], fraction of sentences with the correct pronoun.
    """

    learning_rate: float
    exact: Doubles
    pronoun: Doubles


def results(found: Distances, name: Name) -> Results:
    """Return the results of a network, one row per seed."""
    runs = found.chosen(name)
    exact, pronoun = (
        np.array([getattr(run, of) for run in runs]) / found.sentences for of in ("exact", "pronoun")
    )
    return Results(runs[0].learning_rate, exact, pronoun)


def distances_shown(found: Distances) -> list[int]:
    """Return the indices of the shortest distance, the longest in training, and the longest in the test."""
    return [0, found.max_trained_clauses, len(found.words) - 1]
