"""A tally as the rows of a table: one for each rule and head."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from attnviz.analysis.tally import RULES, Rule, Tally


class Row(NamedTuple):
    """What is known of one head by one rule; a number is nan where no sentence counted.

    Attributes:
        layer, head: from 1, as in everything that a person reads.
        rule: the rule, whose unit the numbers have.
        sentences: how many counted.
        mean, deviation, even: its `Figures.mean` and `deviation`, and the layer's `baseline`.
    """

    layer: int
    head: int
    rule: Rule
    sentences: int
    mean: float
    deviation: float
    even: float


def rows(tally: Tally) -> Iterator[Row]:
    """All of them: rule by rule, and in each layer by layer."""
    for rule in RULES:
        figures = tally.of(rule.name)
        for layer, head in np.ndindex(figures.mean.shape):
            yield Row(
                layer + 1,
                head + 1,
                rule,
                int(figures.count[layer]),
                float(figures.mean[layer, head]),
                float(figures.deviation[layer, head]),
                float(figures.baseline[layer]),
            )
