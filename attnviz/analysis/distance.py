"""How far two heads' rows of weights are from each other, and which heads are most alike."""

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
    """½ Σⱼ |pⱼ − qⱼ|: the share of the weight that lies elsewhere, 0 to 1; a sink is one of the keys.

    >>> total_variation(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    array(0.5, dtype=float32)

    Args:
        first, second: [..., key] (broadcast against each other); what a row lacks of 1 went to a sink.

    Raises:
        InvalidTrace, TypeError: they are no such arrays, or do not fit each other.
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
    """One text's weights on the shared rows, over all columns: what distances are measured on.

    Args:
        weights: [..., query, key] of this text.
        side: "first" or "second": the model of these weights.

    Returns:
        float32 [..., shared row, column]; 0 in a column that does not count, or that this text does not have.
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
    """How far each head's rows are from each other in two texts that one model reads.

    A word that only one text has counts with weight 0 in the other: what it takes, the others lose.

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
    """The largest |second − first| of a cell that both texts have, of any head: the end of a colour scale."""
    shared = [place.shared for place in columns]
    layers = _layers(first, second, rows, columns)
    return max((float(np.abs(new - old)[..., shared].max(initial=0.0)) for old, new in layers), default=0.0)


def _layers(
    first: Floats, second: Floats, rows: Sequence[Place], columns: Sequence[Place]
) -> Iterator[tuple[Floats, Floats]]:
    """Layer by layer: of a long text, all heads with all their columns would be held several times over."""
    for one, other in zip(first, second, strict=True):
        yield (
            rows_on(one, rows, columns, "first"),
            rows_on(other, rows, columns, "second"),
        )


def from_one_head(head: Floats, heads: Floats) -> Floats:
    """How far one head is from each of many, on average over the rows.

    Args:
        head: [row, column].
        heads: [layer, head, row, column].

    Returns:
        float32 [layer, head].
    """
    return np.stack([_variation(head, layer).mean(axis=-1) for layer in heads])


def ranked(values: NDArray[Any], largest_first: bool = True) -> tuple[tuple[int, int], ...]:
    """Every head (layer, head; from 0) in the order of its number; equal heads by layer, then head.

    Args:
        values: [layer, head].
        largest_first: or the smallest.
    """
    order = np.argsort(-values.ravel() if largest_first else values.ravel(), kind="stable")
    return tuple((int(at) // values.shape[1], int(at) % values.shape[1]) for at in order)
