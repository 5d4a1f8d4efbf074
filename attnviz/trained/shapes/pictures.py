"""Pictures of coloured shapes in a grid, and the questions about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent / "weights"
"""Folder of the model."""

GRID = 5
"""Number of rows and of columns of a picture; its cells are the model's patches."""

CELL = 64
"""Pixels per side of a cell."""

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (204, 50, 47),
    "green": (40, 140, 74),
    "blue": (38, 84, 190),
    "yellow": (236, 180, 30),
    "purple": (140, 60, 170),
    "black": (30, 30, 34),
}
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "ring")
BACKGROUND = (244, 242, 236)

_SMOOTH = 4  # samples per pixel and axis, for smooth edges
MIN_SHAPES, MAX_SHAPES = 3, 6  # per picture


@dataclass(frozen=True)
class Shape:
    """A coloured shape in a cell; rows and columns count from 0."""

    row: int
    column: int
    shape: str
    colour: str


@dataclass(frozen=True)
class Question:
    """A question about one of the shapes of a picture.

    Attributes:
        shapes: All shapes of the picture; no two have the same shape or colour.
        target: The shape in question.
        keyword: The word that identifies this shape in the question: a shape or a colour.
        text: The question.
        answer: The answer, one word.
    """

    shapes: tuple[Shape, ...]
    target: Shape
    keyword: str
    text: str
    answer: str

    @property
    def names_shape(self) -> bool:
        """True if the question names a shape and the answer is a colour."""
        return self.keyword in SHAPES


def question(random: Random, minimum: int = MIN_SHAPES, maximum: int = MAX_SHAPES) -> Question:
    """Return a question about a random picture with `minimum` to `maximum` shapes."""
    count = random.randint(minimum, maximum)
    cells = random.sample(range(GRID * GRID), count)
    kinds = zip(cells, random.sample(SHAPES, count), random.sample([*COLOURS], count), strict=True)
    shapes = tuple(Shape(*divmod(cell, GRID), shape, colour) for cell, shape, colour in kinds)
    return question_about(shapes, random.choice(shapes), by_shape=random.random() < 0.5)


def question_about(shapes: tuple[Shape, ...], target: Shape, *, by_shape: bool) -> Question:
    """Return the question about the target's colour if `by_shape`, else about its shape."""
    if by_shape:
        return Question(shapes, target, target.shape, f"what colour is the {target.shape}", target.colour)
    return Question(shapes, target, target.colour, f"which shape is {target.colour}", target.shape)


def draw(shapes: tuple[Shape, ...]) -> NDArray[np.uint8]:
    """Return the picture, [row, column, red green blue]."""
    picture = np.full((GRID * CELL, GRID * CELL, 3), BACKGROUND, dtype=np.uint8)
    for each in shapes:
        top, left = each.row * CELL, each.column * CELL
        picture[top : top + CELL, left : left + CELL] = stamp(each.shape, each.colour)
    picture.setflags(write=False)
    return picture


@cache
def stamp(shape: str, colour: str) -> NDArray[np.uint8]:
    """Return the picture of a cell with a shape, [row, column, red green blue]."""
    along = (np.arange(CELL * _SMOOTH) + 0.5) / (CELL * _SMOOTH) * 2 - 1
    x, y = np.meshgrid(along, along)
    distance = np.hypot(x, y)
    inside = {
        "circle": distance < 0.7,
        "square": np.maximum(abs(x), abs(y)) < 0.62,
        "triangle": (y < 0.6) & (y > 2 * abs(x) - 0.72),
        "diamond": abs(x) + abs(y) < 0.78,
        "cross": (np.minimum(abs(x), abs(y)) < 0.22) & (np.maximum(abs(x), abs(y)) < 0.72),
        "ring": (distance > 0.4) & (distance < 0.74),
    }[shape]
    share = inside.reshape(CELL, _SMOOTH, CELL, _SMOOTH).mean(axis=(1, 3))[..., None]
    drawn: NDArray[np.uint8] = np.round(
        share * np.array(COLOURS[colour]) + (1 - share) * np.array(BACKGROUND)
    ).astype(np.uint8)
    drawn.setflags(write=False)
    return drawn
