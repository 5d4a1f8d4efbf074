"""Out of torch's memory into arrays that nobody can write to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


def owned(tensor: Tensor) -> NDArray[Any]:
    """A read-only, contiguous copy; a Block takes it as it is and does not copy again."""
    array = np.array(tensor.numpy(), order="C")
    array.setflags(write=False)
    return array
