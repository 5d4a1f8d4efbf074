"""Example pictures, composed of simple shapes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.trained.shapes import pictures

Pixels = NDArray[np.uint8]
"""A picture: [row, column, RGB]."""

SIDE = 224
"""Side of each picture in `SAMPLES`, in pixels: the training resolution of most image models."""

_SMOOTH = 3  # antialiasing: each pixel is the mean of 3 × 3 samples
_WHITE = (244, 242, 236)

Plane = NDArray[np.floating[Any]]
Colour = tuple[int, int, int]


@cache
def sample(name: str) -> Pixels:
    """Return the example with this name in `SAMPLES` or `QUESTIONS`, read-only."""
    if name in QUESTIONS:
        return pictures.draw(QUESTIONS[name].shapes)
    side = SIDE * _SMOOTH
    along = (np.arange(side, dtype=np.float32) + 0.5) / side
    x, y = np.meshgrid(along, along)
    large = SAMPLES[name](x, y).reshape(SIDE, _SMOOTH, SIDE, _SMOOTH, 3)
    drawn: Pixels = np.round(large.mean(axis=(1, 3))).astype(np.uint8)
    drawn.setflags(write=False)
    return drawn


def _two_shapes(x: Plane, y: Plane) -> Plane:
    """Draw a red disc and a blue square."""
    picture = np.full((*x.shape, 3), _WHITE, dtype=np.float32)
    _paint(picture, (x - 0.3) ** 2 + (y - 0.34) ** 2 < 0.19**2, (204, 50, 47))
    _paint(picture, (abs(x - 0.7) < 0.16) & (abs(y - 0.68) < 0.16), (38, 84, 168))
    return picture


def _boat(x: Plane, y: Plane) -> Plane:
    """Draw a boat on the sea, with hills and the sun behind it."""
    sky = np.stack([150 + 80 * y, 190 + 40 * y, 232 - 10 * y], axis=-1)
    picture: Plane = sky.astype(np.float32)
    _paint(picture, (x - 0.78) ** 2 + (y - 0.2) ** 2 < 0.085**2, (252, 214, 92))
    _paint(picture, y > 0.56 - 0.13 * np.sin(5.5 * x + 0.4) - 0.04 * np.sin(13 * x), (96, 140, 96))
    _paint(picture, y > 0.62, (44, 98, 150))
    _paint(picture, (y > 0.62) & (np.sin(70 * y + 3 * np.sin(9 * x)) > 0.86), (92, 146, 190))
    _paint(picture, (y > 0.68) & (y < 0.77) & (abs(x - 0.4) < 0.2 - 0.9 * (y - 0.68)), (122, 66, 40))
    _paint(picture, (abs(x - 0.4) < 0.008) & (y > 0.24) & (y < 0.68), (70, 50, 40))
    _paint(picture, (x > 0.42) & (y < 0.64) & (y - 0.26 > 2.1 * (x - 0.42)), (246, 246, 240))
    return picture


def _question(seed: int, count: int) -> pictures.Question:
    return pictures.question(Random(seed), count, count)  # noqa: S311 - not for security


QUESTIONS: dict[str, pictures.Question] = {
    "six shapes": _question(239, 6),
    "five shapes": _question(6, 5),
    "three shapes": _question(5, 3),
}
"""Pictures like the training pictures of the bundled shapes model, with a question for each."""

SAMPLES: dict[str, Callable[[Plane, Plane], Plane]] = {
    "boat": _boat,
    "two shapes": _two_shapes,
}
"""Functions that draw a picture at coordinates from 0 to 1; x grows to the right, y downwards."""


def _paint(picture: Plane, where: NDArray[np.bool_], colour: Colour) -> None:
    picture[where] = colour
