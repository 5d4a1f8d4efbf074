"""How widely weights are spread, and how far they reach."""

from __future__ import annotations

import numpy as np

from attnviz.trace import Doubles, Floats, Trace, checked_array, refuse_cross, weights_of

_MIN_WEIGHT = np.float32(1e-30)  # below this, w log w is nothing; and log 0 would be no number


def entropy(weights: Floats | Trace) -> Doubles:
    """−Σ w log₂ w over the last axis, in bits (Shannon 1948): [...], for weights [..., key] or a trace.

    0: one key gets everything; log₂ n: n keys get the same. In a trace with sinks, the sink is one key more.

    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([-0.,  1.])

    Raises:
        InvalidTrace, TypeError: it is no such array, or a row of it does not sum to 1.
    """
    if not isinstance(weights, Trace):
        return bits(checked_array(weights, "weights", ("...", "key")))
    rows = weights_of(weights)
    return bits(rows if all(block.sinks is None for block in weights.blocks) else with_sink(rows))


def bits(rows: Floats) -> Doubles:
    """−Σ w log₂ w over the last axis, [...], of rows [..., key] that need not sum to 1."""
    logarithms = np.log(np.maximum(rows, _MIN_WEIGHT))  # NumPy computes it faster than log₂
    return np.asarray(-np.einsum("...k,...k->...", rows, logarithms, dtype=np.float64) / np.log(2))


def with_sink(weights: Floats) -> Floats:
    """The rows with what each lacks of 1 as one more key: a sink's share, or else nothing but rounding."""
    rest = np.maximum(1 - weights.sum(axis=-1, keepdims=True), 0)
    return np.concatenate([weights, rest], axis=-1)


def attention_distance(weights: Floats | Trace) -> Doubles:
    """Σⱼ wᵢⱼ |i − j|, the mean over all queries i, in tokens (compare Vig & Belinkov 2019).

    What goes to a sink goes no distance. Special tokens count as others do. (The rule “distance” of the pages
    and of `behaviour` leaves them out.)

    >>> attention_distance(np.array([[[[1.0, 0.0], [0.5, 0.5]]]]))
    array([[0.25]])

    Args:
        weights: [layer, head, query, key] of a self-attention, or a trace that has no other attention.

    Returns:
        float64 [layer, head].

    Raises:
        InvalidTrace, TypeError: it is neither, or queries and keys are not the same tokens.
    """
    weights = weights_of(weights)
    refuse_cross(weights)
    places = np.arange(weights.shape[-1])
    away = np.abs(np.subtract.outer(places, places)).astype(np.float64)
    return np.asarray(np.einsum("lhqk,qk->lh", weights, away) / len(places))
