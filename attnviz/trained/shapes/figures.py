"""What was measured of the model of coloured shapes, on pictures that no training has seen."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parent / "figures.json"


class Head(NamedTuple):
    """A head whose word attends to the patch that it names.

    Attributes:
        head: layer and head, from 1, chosen on half of the pictures; the rest is of the other half.
        weight: what it gives to that patch, on average.
        interval: the 95 % interval of that, by a bootstrap over the pictures.
        other_heads: the smallest and the largest mean of the other heads.
    """

    head: tuple[int, int]
    weight: float
    interval: tuple[float, float]
    other_heads: tuple[float, float]


class Figures(NamedTuple):
    """The stored figures.

    Attributes:
        pictures: how many.
        right: how many questions about them were answered right.
        uniform: what each token would get of uniform attention.
        by_shape, by_colour: the heads of questions that name a shape, and of those that name a colour.
    """

    pictures: int
    right: int
    uniform: float
    by_shape: Head
    by_colour: Head


@cache
def stored() -> Figures:
    """Return the figures of the model that comes with attnviz."""
    pictures, right, uniform, *heads = json.loads(FILE.read_text("utf-8")).values()
    by_shape, by_colour = (
        Head((head[0], head[1]), weight, (interval[0], interval[1]), (others[0], others[1]))
        for head, weight, interval, others in heads
    )
    return Figures(pictures, right, uniform, by_shape, by_colour)
