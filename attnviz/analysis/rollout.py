"""Attention rollout: the product of the layers' attention weights (Abnar & Zuidema 2020)."""

from __future__ import annotations

import numpy as np

from attnviz.errors import InvalidTrace
from attnviz.text import layers_by_kind
from attnviz.trace import Floats, Trace, refuse_cross, weights_of


def mixed(weights: Floats | Trace) -> Floats:
    """Ã = ½ (W̄ + I): the mixing of a layer, half by attention and half by the residual connection.

    W̄ is the mean over the layer's heads, as in the paper. That hides what single heads do (Voita et al.
    2019); rollout is defined on it all the same: it needs one number for each pair of tokens.
    What goes to a sink brings nothing along: each row of Ã is divided by its sum, so that the way around has
    more than half.

    Args:
        weights: [layer, head, query, key] of a self-attention, so that queries and keys are the same tokens;
            or a trace that has no other attention.

    Returns:
        [layer, query, key]; every row sums to 1.

    Raises:
        InvalidTrace, TypeError: it is neither.
    """
    weights = weights_of(weights)
    refuse_cross(weights)
    together = (weights.mean(axis=1, dtype=np.float64) + np.eye(weights.shape[-1])) / 2
    shares: Floats = together / together.sum(axis=-1, keepdims=True)
    return shares


def rollout(weights: Floats | Trace) -> Floats:
    """Attention rollout: R₁ = Ã₁ and Rₗ = Ãₗ Rₗ₋₁ (Abnar & Zuidema 2020).

    >>> rollout(np.array([[[[1.0, 0.0], [0.5, 0.5]]]]))
    array([[[1.  , 0.  ],
            [0.25, 0.75]]], dtype=float32)

    Args:
        weights: [layer, head, query, key] of a self-attention, the first layer first; or a trace that has no
            other attention. Of the heads the mean is taken.

    Returns:
        float32 [layer, query, input]: after each layer, how much of every input token there is at every
        token. Rows sum to 1. Under a causal mask, later tokens get 0.

    Raises:
        InvalidTrace, TypeError: it is neither, or a trace of a model with layers that have no weights.
    """
    if isinstance(weights, Trace) and weights.without_weights:
        raise InvalidTrace(
            "Rollout multiplies the attention weights of all layers, and this model has none in "
            f"{layers_by_kind(weights.without_weights)}."
        )
    layers = mixed(weights)
    rolled = [layers[0]]
    for layer in layers[1:]:
        rolled.append(layer @ rolled[-1])
    return np.stack(rolled).astype(np.float32)
