"""Attention rollout: the product of the layers' attention weights (Abnar & Zuidema 2020)."""

from __future__ import annotations

import numpy as np

from attnviz.errors import InvalidTrace
from attnviz.text import layers_by_kind
from attnviz.trace import Floats, Trace, refuse_cross, weights_of


def with_residual(weights: Floats | Trace) -> Floats:
    """Return Ã = ½ (W̄ + I) for each layer: half attention, half residual connection.

    W̄ is the mean over the layer's heads, although the mean hides differences between heads
    (Voita et al. 2019). A learned sink takes weight but adds no vector, so each row of Ã is divided by its
    sum; the residual connection then accounts for more than half.

    Args:
        weights: Self-attention weights [layer, head, query, key], or a trace with only self-attention.

    Returns:
        [layer, query, key]; every row sums to 1.

    Raises:
        InvalidTrace, TypeError: `weights` is invalid.
    """
    weights = weights_of(weights)
    refuse_cross(weights)
    mixed = (weights.mean(axis=1, dtype=np.float64) + np.eye(weights.shape[-1])) / 2
    rescaled: Floats = mixed / mixed.sum(axis=-1, keepdims=True)
    return rescaled


def rollout(weights: Floats | Trace) -> Floats:
    """Return the attention rollout R₁ = Ã₁ and Rₗ = Ãₗ Rₗ₋₁ (Abnar & Zuidema 2020).

    >>> rollout(np.array([[[[1.0, 0.0], [0.5, 0.5]]]]))
    array([[[1.  , 0.  ],
            [0.25, 0.75]]], dtype=float32)

    Args:
        weights: Self-attention weights [layer, head, query, key], first layer first, or a trace with only
            self-attention. Heads are averaged.

    Returns:
        float32 [layer, query, input], contribution of every input token to every token after each layer.
        Rows sum to 1. With a causal mask, later tokens contribute 0.

    Raises:
        InvalidTrace, TypeError: `weights` is invalid, or the model has layers without attention weights.
    """
    if isinstance(weights, Trace) and weights.without_weights:
        raise InvalidTrace(
            "Rollout multiplies the attention weights of all layers, and this model has none in "
            f"{layers_by_kind(weights.without_weights)}."
        )
    layers = with_residual(weights)
    rolled = [layers[0]]
    for layer in layers[1:]:
        rolled.append(layer @ rolled[-1])
    return np.stack(rolled).astype(np.float32)
