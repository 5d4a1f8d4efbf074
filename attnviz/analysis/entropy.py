"""How widely weights are spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attnviz.trace import Floats, Trace, weights_of

_LEAST = np.float32(1e-30)  # below this, w log w is nothing; and log 0 would be no number


def entropy(weights: Floats | Trace) -> NDArray[np.float64]:
    """−Σ w log₂ w over the last axis, in bits (Shannon 1948): [...], for weights [..., key] or a trace.

    0: one key gets everything; log₂ n: n keys get the same.
    """
    weights = weights_of(weights)
    logarithms = np.log(np.maximum(weights, _LEAST))  # NumPy computes it faster than log₂
    return np.asarray(-np.einsum("...k,...k->...", weights, logarithms, dtype=np.float64) / np.log(2))
