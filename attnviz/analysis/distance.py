"""Distances between the attention weights of heads, and rankings of heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.entropy import with_sink
from attnviz.errors import InvalidTrace
from attnviz.trace import Floats, checked_array


def total_variation(first: Floats, second: Floats) -> Floats:
    """Return the total variation distance ½ Σⱼ |pⱼ − qⱼ|, 0 to 1; a learned sink counts as a key.

    >>> total_variation(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    array(0.5, dtype=float32)

    Args:
        first, second: [..., key], broadcast against each other; in a row of sum < 1, a sink has the rest.

    Raises:
        InvalidTrace, TypeError: the arrays are invalid, or cannot be broadcast.
    """
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
    return np.asarray(np.abs(with_sink(second) - with_sink(first)).sum(axis=-1) / 2, dtype=np.float32)


def ranked(values: NDArray[Any]) -> tuple[tuple[int, int], ...]:
    """Return all heads (layer, head; from 0), largest value first; ties by layer, then head.

    Args:
        values: [layer, head].
    """
    order = np.argsort(-values.ravel(), kind="stable")
    return tuple((int(at) // values.shape[1], int(at) % values.shape[1]) for at in order)
