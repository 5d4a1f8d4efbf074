"""What was measured of the model of coloured shapes, on pictures that no training has seen."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parent / "figures.json"


class Figures(NamedTuple):
    """The stored figures.

    Attributes:
        pictures: how many.
        right: how many questions about them were answered right.
        head: layer and head, from 1, chosen on half of the pictures; the rest is of the other half.
        weight: what this head gives, from the word that names a shape, to the patch with it, on average.
        interval: the 95 % interval of that, by a bootstrap over the pictures.
        uniform: what each token would get of uniform attention.
        other_heads: the smallest and the largest mean of the other heads.
    """

    pictures: int
    right: int
    head: tuple[int, int]
    weight: float
    interval: tuple[float, float]
    uniform: float
    other_heads: tuple[float, float]


@cache
def stored() -> Figures:
    """Return the figures of the model that comes with attnviz."""
    found = json.loads(FILE.read_text("utf-8"))
    lists = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
    return Figures(**found | lists)
