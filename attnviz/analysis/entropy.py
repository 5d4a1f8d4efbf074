"""Entropy of attention weights, and attention distance."""

from __future__ import annotations

import numpy as np

from attnviz.trace import Doubles, Floats, Trace, checked_array, refuse_cross, weights_of

_MIN_WEIGHT = np.float32(1e-30)  # avoids log 0; below it w log w is negligible


def entropy(weights: Floats | Trace) -> Doubles:
    """Return the entropy −Σ w log₂ w in bits (Shannon 1948), [...], of weights [..., key] or a trace.

    It is 0 if one key has all the weight, and log₂ n if n keys have equal weights. A learned sink is counted
    as a key.

    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([-0.,  1.])

    Raises:
        InvalidTrace, TypeError: the array is invalid, or a row does not sum to 1.
    """
    if not isinstance(weights, Trace):
        return bits(checked_array(weights, "weights", ("...", "key")))
    rows = weights_of(weights)
    return bits(rows if all(block.sinks is None for block in weights.blocks) else with_sink(rows))


def bits(rows: Floats) -> Doubles:
    """Return −Σ w log₂ w, [...], of rows [..., key] that need not sum to 1."""
    logarithms = np.log(np.maximum(rows, _MIN_WEIGHT))  # faster in NumPy than log₂
    return np.asarray(-np.einsum("...k,...k->...", rows, logarithms, dtype=np.float64) / np.log(2))


def with_sink(weights: Floats) -> Floats:
    """Append 1 − (sum of the row) as one more key: the weight of a sink, or a rounding error."""
    rest = np.maximum(1 - weights.sum(axis=-1, keepdims=True), 0)
    return np.concatenate([weights, rest], axis=-1)


def attention_distance(weights: Floats | Trace) -> Doubles:
    """Return Σⱼ wᵢⱼ |i − j| in tokens, averaged over queries i (compare Vig & Belinkov 2019).

    The weight of a learned sink has distance 0. Special tokens are included, unlike in the rule “far away”
    of `behaviour`.

    >>> attention_distance(np.array([[[[1.0, 0.0], [0.5, 0.5]]]]))
    array([[0.25]])

    Args:
        weights: Self-attention weights [layer, head, query, key], or a trace with only self-attention.

    Returns:
        float64 [layer, head].

    Raises:
        InvalidTrace, TypeError: `weights` is invalid, or queries and keys are not the same tokens.
    """
    weights = weights_of(weights)
    refuse_cross(weights)
    places = np.arange(weights.shape[-1])
    away = np.abs(np.subtract.outer(places, places)).astype(np.float64)
    return np.asarray(np.einsum("lhqk,qk->lh", weights, away) / len(places))
