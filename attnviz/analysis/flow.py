"""Rollout and flow: how much of each input token reaches a token through all layers, by weights alone.

Rollout multiplies the layers' weights; flow takes them for the widths of pipes (Abnar & Zuidema 2020).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from attnviz.trace import Doubles, Floats, Trace, checked_array, checked_place, refuse_cross, weights_of

_NOTHING = 1e-12  # less than this is what is left when doubles are subtracted


def mixed(weights: Floats | Trace) -> Floats:
    """Ã = ½ (W̄ + I): what a layer hands on, half by attention and half by the way around it.

    W̄ is the mean over the layer's heads, as in the paper. That hides what single heads do (Voita et al.
    2019); rollout and flow are defined on it all the same: both need one number for each pair of tokens.
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
        token. Rows sum to 1. Where a mask lets nobody look ahead, nothing comes from ahead.

    Raises:
        InvalidTrace, TypeError: it is neither.
    """
    layers = mixed(weights)
    rolled = [layers[0]]
    for layer in layers[1:]:
        rolled.append(layer @ rolled[-1])
    return np.stack(rolled).astype(np.float32)


def flow(layers: Floats | Trace, token: int, source: int) -> float:
    """The maximum flow from `token` after the last layer to `source` before the first (Abnar & Zuidema 2020).

    Between a token of one layer and a token of the layer below, no more can flow than Ã says; a token hands
    on what it gets. All inputs are asked one by one, so that their flows may use the same pipes and need not
    sum to 1. (The authors' code divides a token's flows by their sum, which changes no rank.)

    >>> flow(np.array([[[[1.0, 0.0], [0.5, 0.5]]]]), token=1, source=0)
    0.25

    Args:
        layers: as `rollout` takes them; or Ã itself, [layer, query, key].
        token, source: from 0.

    Returns:
        0 to 1.

    Raises:
        InvalidTrace, TypeError: it is neither, or there is no such token.
    """
    if isinstance(layers, Trace) or np.ndim(layers) == 4:
        layers = mixed(layers)
    refuse_cross(checked_array(layers, "layers", ("layer", "query", "key")))
    checked_place(token, layers.shape[-1], "token")
    checked_place(source, layers.shape[-1], "source")
    count, tokens, _ = layers.shape
    capacity = np.zeros(((count + 1) * tokens,) * 2)
    for layer, widths in enumerate(layers):
        below, above = layer * tokens, (layer + 1) * tokens
        capacity[above : above + tokens, below : below + tokens] = widths
    return max_flow(capacity, count * tokens + token, source)


def max_flow(capacity: Doubles, source: int, sink: int) -> float:
    """The most that can flow from one node to another (Dinitz 1970), by waves (Karzanov 1974).

    Args:
        capacity: [node, node], how much may flow from the first to the second.
        source, sink: two different nodes.
    """
    residual = capacity.copy()
    total = 0.0
    while (distance := _distances(residual, sink))[source] > 0:
        total += _blocking_flow(residual, distance, source)
    return total


def _distances(residual: Doubles, sink: int) -> NDArray[np.intp]:
    """How many pipes each node is away from the sink; −1: no way leads there."""
    is_open = residual > _NOTHING
    distance = np.full(len(residual), -1)
    distance[sink] = 0
    frontier = np.array([sink])
    while frontier.size:
        next_to = is_open[:, frontier].any(axis=1) & (distance < 0)
        distance[next_to] = distance[frontier[0]] + 1
        frontier = np.flatnonzero(next_to)
    return distance


def _blocking_flow(residual: Doubles, distance: NDArray[np.intp], source: int) -> float:
    """Fills the shortest ways until each has a full pipe; changes `residual`, returns what has arrived.

    A wave pours everything downwards as far as it goes. A node that cannot pass on all it got is closed, and
    gives the rest back to those who can try elsewhere.
    """
    levels = [np.flatnonzero(distance == away) for away in range(distance[source])]
    levels.append(np.array([source]))
    room = [residual[np.ix_(upper, lower)] for lower, upper in pairwise(levels)]
    sent = [np.zeros_like(pipes) for pipes in room]
    held = [np.zeros(len(level)) for level in levels]
    closed = [np.zeros(len(level), dtype=np.bool_) for level in levels]
    held[-1][:] = room[-1].sum()
    while any((nodes > 0).any() for nodes in held[1:]):
        for upper in range(len(levels) - 1, 0, -1):
            lower = upper - 1
            poured = _poured(held[upper], (room[lower] - sent[lower]) * ~closed[lower])
            sent[lower] += poured
            held[upper] = _left(held[upper] - poured.sum(axis=1))
            held[lower] += poured.sum(axis=0)
            closed[upper] |= held[upper] > 0
        for lower in range(1, len(levels) - 1):
            back = _poured(held[lower] * closed[lower], sent[lower].T).T
            sent[lower] -= back
            held[lower] = _left(held[lower] - back.sum(axis=0))
            held[lower + 1] += back.sum(axis=1)
        held[-1][:] = 0  # what comes back to the source found no way
    for lower, flowing in enumerate(sent):
        residual[np.ix_(levels[lower + 1], levels[lower])] -= flowing
        residual[np.ix_(levels[lower], levels[lower + 1])] += flowing.T
    return float(held[0].sum())


def _poured(held: Doubles, room: Doubles) -> Doubles:
    """What each node [row] pours into its pipes [row, column], one pipe after the other."""
    before = room.cumsum(axis=1) - room
    poured: Doubles = np.clip(held[:, None] - before, 0, room)
    return poured


def _left(held: Doubles) -> Doubles:
    return np.where(held > _NOTHING, held, 0.0)
