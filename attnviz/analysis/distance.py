"""Distances between the attention weights of heads, and rankings of heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.aligned import Place, Side, on_places
from attnviz.analysis.entropy import with_sink
from attnviz.errors import InvalidTrace
from attnviz.trace import Floats, checked_array


def total_variation(first: Floats, second: Floats) -> Floats:
    """Return the total variation distance ½ Σⱼ |pⱼ − qⱼ|, 0 to 1; a sink counts as a key.

    >>> total_variation(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    array(0.5, dtype=float32)

    Args:
        first, second: [..., key] (broadcast against each other); a row that sums to less than 1 has a sink.

    Raises:
        InvalidTrace, TypeError: the arrays are invalid, or cannot be broadcast.
    """
    return _variation(*_checked(first, second))


def _variation(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.abs(with_sink(second) - with_sink(first)).sum(axis=-1) / 2, dtype=np.float32)


def _checked(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    shapes = [
        checked_array(each, name, ("...", "key"), sink=True).shape
        for each, name in ((first, "first"), (second, "second"))
    ]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise InvalidTrace(
            f"first has the shape {shapes[0]} and second {shapes[1]}: their rows cannot be compared."
        ) from error
    return first, second


def rows_on(weights: Floats, rows: Sequence[Place], columns: Sequence[Place], side: Side) -> Floats:
    """Return one text's weights in the shared rows and all columns, for distances.

    Args:
        weights: [..., query, key] of this text.
        side: "first" or "second", the text of these weights.

    Returns:
        float32 [..., shared row, column]; 0 in a column that this text does not have.
    """
    shared = [place.of(side) for place in rows if place.shared]
    placed = on_places(weights, shared, [place.of(side) for place in columns])
    return np.nan_to_num(placed, copy=False, nan=0.0)


def changes(
    first: Floats,
    second: Floats,
    rows: Sequence[Place],
    columns: Sequence[Place],
) -> Floats:
    """Return the distance between each head's rows in two texts that one model reads.

    A word that only one text has counts with weight 0 in the other.

    Args:
        first, second: [layer, head, query, key].

    Returns:
        float32 [layer, head, shared row].
    """
    return np.stack([_variation(*both) for both in _layers(first, second, rows, columns)])


def largest_difference(
    first: Floats,
    second: Floats,
    rows: Sequence[Place],
    columns: Sequence[Place],
) -> float:
    """Return the largest |second − first| over all heads and shared cells, the end of a colour scale."""
    shared = [place.shared for place in columns]
    layers = _layers(first, second, rows, columns)
    return max((float(np.abs(new - old)[..., shared].max(initial=0.0)) for old, new in layers), default=0.0)


def _layers(
    first: Floats, second: Floats, rows: Sequence[Place], columns: Sequence[Place]
) -> Iterator[tuple[Floats, Floats]]:
    """Yield both texts' rows layer by layer, to save memory in long texts."""
    for one, other in zip(first, second, strict=True):
        yield (
            rows_on(one, rows, columns, "first"),
            rows_on(other, rows, columns, "second"),
        )


def ranked(values: NDArray[Any], largest_first: bool = True) -> tuple[tuple[int, int], ...]:
    """Return all heads (layer, head; from 0) sorted by value; ties by layer, then head.

    Args:
        values: [layer, head].
        largest_first: Sort in descending order.
    """
    order = np.argsort(-values.ravel() if largest_first else values.ravel(), kind="stable")
    return tuple((int(at) // values.shape[1], int(at) % values.shape[1]) for at in order)
