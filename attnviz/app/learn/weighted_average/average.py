"""A weighted average drawn as what it is: every vector, how much of it is taken, and the sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from attnviz.app.components.component import widget


class Word(TypedDict):
    """A token of the sentence: what is written, and what sentences call it."""

    label: str
    name: str


class Part(TypedDict):
    """One line of the sum: a token as in `Word`, or several together ("490 more"), which are not `single`.

    Attributes:
        weight: its share, 0 to 1.
        vector: the numbers of its vector that are shown.
    """

    label: str
    name: str
    single: bool
    weight: float
    vector: list[float]


@widget
def average(
    key: str,
    /,
    *,
    words: Sequence[Word],
    query: int,
    parts: Sequence[Part],
    mixed: Sequence[float],
    d_model: int,
    left_out: str,
    on_pick: Callable[[int], None],
) -> None:
    """Draws the sentence, each token's weight and vector, and the mixed vector at the bottom.

    Pointing at a line shows what it gives to the sum; pointing at a number, or ← and → on a line, works that
    number out. Each printed number stands unrounded in a `data-value` attribute beside it.

    Args:
        words: the whole sentence.
        query: the token that looks, a place in `words`, from 0.
        parts: the lines of the sum, in order; their weights sum to 1.
        mixed: Σ weight · vector, the numbers that are shown.
        d_model: how many numbers a whole vector has.
        left_out: which tokens are not among the words, for the saved picture.
        on_pick: called with the place of the token that the visitor picks.
    """
