"""The Jensen–Shannon divergence between the weights of each pair of heads."""

from __future__ import annotations

import numpy as np

from attnviz.analysis.entropy import bits, with_sink
from attnviz.trace import Doubles, Floats, Trace, weights_of


def divergence(weights: Floats | Trace) -> Doubles:
    """Return the Jensen–Shannon divergence between the weights of each pair of heads (Lin 1991).

    JS(P, Q) = H((P + Q) / 2) − (H(P) + H(Q)) / 2 in bits, where P and Q are a token's rows in the two heads,
    averaged over tokens (Clark et al. 2019, section 6): 0 for equal heads, 1 for heads with disjoint support.

    >>> distance = divergence(np.array([[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]]))
    >>> distance.shape, distance[0, 0, 0, 1]  # heads 1 and 2: 1 bit for the first token, 0 for the second
    ((1, 2, 1, 2), np.float64(0.5))

    Args:
        weights: [layer, head, query, key], or a trace with one kind of attention.

    Returns:
        float64 [layer, head, layer, head].

    Raises:
        InvalidTrace, TypeError: `weights` is invalid.
    """
    weights = weights_of(weights)
    rows = np.concatenate([with_sink(layer) for layer in weights])
    # [head, cell]; halved once, so that the mean of two heads is the sum of their halves.
    cells = rows.reshape(len(rows), -1)
    own, half = bits(cells), cells / np.float32(2)
    total = np.zeros((len(rows), len(rows)))
    # Compare one head at a time with all later heads: all pairs together would not fit in memory.
    for head in range(len(rows) - 1):
        joint = bits(half[head + 1 :] + half[head])
        total[head, head + 1 :] = np.maximum(joint - (own[head + 1 :] + own[head]) / 2, 0)
    found: Doubles = (total + total.T) / rows.shape[1]
    return found.reshape(weights.shape[:2] * 2)
