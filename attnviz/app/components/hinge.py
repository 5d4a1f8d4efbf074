"""A slider between two ends, of which each step was computed: a row of weights, and what the model writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypedDict

import numpy as np

from attnviz.app.components.component import widget
from attnviz.app.state import link
from attnviz.app.state.choice import Number
from attnviz.trace import Floats


def keeps(choice: Number) -> Callable[[int], None]:
    """What keeps the step in this choice, and in the address."""
    return partial(link.choose, choice)


def turning_point(first: Floats, second: Floats) -> int | None:
    """The first step at which the second series is the larger one, if it was not at first; None: at none.

    Args:
        first, second: [step].
    """
    if second[0] > first[0]:
        return None
    later = np.flatnonzero(second > first)
    return int(later[0]) if later.size else None


class Mark(TypedDict):
    """A step at which something turns, and what."""

    step: int
    text: str


class Written(TypedDict):
    """A word that the model may write, and how probable it is at each step."""

    word: str
    probabilities: list[float]


def written(words: Sequence[str], probabilities: Sequence[Floats]) -> list[Written]:
    """Words that the model may write, and [step], how probable each is."""
    return [
        {"word": word, "probabilities": each.tolist()}
        for word, each in zip(words, probabilities, strict=True)
    ]


@widget
def hinge(
    key: str,
    /,
    *,
    title: str,
    words: Sequence[str],
    query: int,
    place: int | None,
    ends: tuple[str, str],
    rows: Floats,
    marks: Sequence[Mark],
    outcome: Sequence[Written],
    texts: Sequence[str] = (),
    step: int,
    on_change: Callable[[int], None],
) -> None:
    """Draws a sentence, the lines of the token that looks, and a slider from one word to the other.

    Args:
        query: the token that looks, a place in `words`, from 0.
        place: where the word stands that turns from the first end into the second, if one does.
        ends: what the slider leads from, and to.
        rows: [step, key], the weights.
        marks: what stands below the slider.
        outcome: what the model may write.
        texts: for each step, all that it then writes.
        step: where the slider stands.
        on_change: called with the step at which the visitor left it.
    """
