"""Out of torch's memory into arrays that nobody can write to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


def owned(tensor: Tensor) -> NDArray[Any]:
    """A read-only, contiguous copy; a Block takes it as it is and does not copy again.

    What a network computed in bfloat16 or float16 becomes float32, which holds every such number exactly.
    """
    array = np.array((tensor.float() if tensor.is_floating_point() else tensor).cpu().numpy(), order="C")
    array.setflags(write=False)
    return array
