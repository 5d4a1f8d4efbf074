"""Stored results of the storytellers' training runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from attnviz.trained.storyteller.sizes import WEIGHTS

FILE = WEIGHTS / "figures.json"


class Figures(NamedTuple):
    """Results of one storyteller; the weights of seed 0 are bundled.

    Attributes:
        variant, seed: Name of the size, and seed of the training run.
        steps: Number of training steps.
        items: Number of stories for each number of objects.
        places: Number of stories in which an object's place is predicted correctly, by number of objects.
        prefix_matching: Scores of each layer's heads, as in `copying.Copying`.
    """

    variant: str
    seed: int
    steps: int
    items: int
    places: Mapping[str, int]
    prefix_matching: list[list[float]]


def stored() -> tuple[Figures, ...]:
    """Return the results of three training runs of each size."""
    return tuple(Figures(**run) for run in json.loads(FILE.read_text("utf-8")))
