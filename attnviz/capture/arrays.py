"""Torch tensors as read-only NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


def owned(tensor: Tensor) -> NDArray[Any]:
    """A read-only, contiguous copy; a Block takes it as it is and does not copy again."""
    array = np.array(as_numpy(tensor), order="C")
    array.setflags(write=False)
    return array


def as_numpy(tensor: Tensor) -> NDArray[Any]:
    """The same numbers, not copied where they need not be.

    What a network computed in bfloat16 or float16 becomes float32, which holds every such number exactly.
    """
    return (tensor.float() if tensor.is_floating_point() else tensor).cpu().numpy()
