"""Attention rollout: how much of each input token reaches a token through all layers, by weights alone."""

from __future__ import annotations

import numpy as np

from attnviz.trace import Floats


def mixed(weights: Floats) -> Floats:
    """Ã = ½ (W̄ + I): what a layer hands on, half by attention and half by the way around it.

    W̄ is the mean over the layer's heads, as in the paper. That hides what single heads do (Voita et al.
    2019); rollout and flow are defined on it all the same: both need one number for each pair of tokens.

    Args:
        weights: [layer, head, query, key] of a self-attention, so that queries and keys are the same tokens.

    Returns:
        [layer, query, key]; every row sums to 1.
    """
    together = (weights.mean(axis=1, dtype=np.float64) + np.eye(weights.shape[-1])) / 2
    shares: Floats = together / together.sum(axis=-1, keepdims=True)
    return shares


def rollout(weights: Floats) -> Floats:
    """R₁ = Ã₁ and Rₗ = Ãₗ Rₗ₋₁ (Abnar & Zuidema 2020).

    Args:
        weights: as `mixed` takes them, the first layer first.

    Returns:
        float32 [layer, query, input]: after each layer, how much of every input token there is at every
        token. Rows sum to 1. Where a mask lets nobody look ahead, nothing comes from ahead.
    """
    layers = mixed(weights)
    rolled = [layers[0]]
    for layer in layers[1:]:
        rolled.append(layer @ rolled[-1])
    return np.stack(rolled).astype(np.float32)
