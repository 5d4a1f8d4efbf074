"""How alike vectors are, of which there are many."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from attnviz.trace import Floats

_BLOCK = 2**15  # numbers that are compared at once: torch gives no more to one thread, and threads would wait


def cosines(vectors: NDArray[np.floating], vector: Floats) -> Floats:
    """The cosine of each vector with one.

    Args:
        vectors: [token, d], a memory map too.
        vector: [d].

    Returns:
        [token], float32; the cosine of a vector of zeros is 0.
    """
    found = np.empty(len(vectors), np.float32)
    unit = torch.from_numpy(vector.astype(np.float32) / max(float(np.linalg.norm(vector)), 1e-12))
    step = max(_BLOCK // max(len(unit), 1), 1)
    for start in range(0, len(vectors), step):
        # Torch makes float32 of float16 eight times as fast as numpy, which is most of the work; what it is
        # given is a copy, since it takes no file that is open for reading alone.
        block = torch.from_numpy(np.array(vectors[start : start + step])).float()
        lengths = torch.linalg.vector_norm(block, dim=1).clamp_min(1e-12)
        found[start : start + step] = (block @ unit) / lengths
    return found
