"""Stored results of the model for coloured shapes, on held-out pictures."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parent / "figures.json"


class Head(NamedTuple):
    """Results of a head in which a question's last word, a shape or colour, attends to that shape's patch.

    Attributes:
        head: Layer and head, from 1, chosen on one half of the pictures; the values are from the other half.
        weight: Mean attention weight on that patch.
        interval: 95 % bootstrap confidence interval of this mean, over pictures.
        other_heads: Minimum and maximum of this mean over the other heads.
    """

    head: tuple[int, int]
    weight: float
    interval: tuple[float, float]
    other_heads: tuple[float, float]


class Figures(NamedTuple):
    """The stored results.

    Attributes:
        pictures: Number of pictures.
        right: Number of correct answers.
        uniform: Weight of each token under uniform attention.
        by_shape, by_colour: The heads for questions that name a shape and for questions that name a colour.
    """

    pictures: int
    right: int
    uniform: float
    by_shape: Head
    by_colour: Head


@cache
def stored() -> Figures:
    """Return the results of the bundled model."""
    pictures, right, uniform, *heads = json.loads(FILE.read_text("utf-8")).values()
    by_shape, by_colour = (
        Head((head[0], head[1]), weight, (interval[0], interval[1]), (others[0], others[1]))
        for head, weight, interval, others in heads
    )
    return Figures(pictures, right, uniform, by_shape, by_colour)
