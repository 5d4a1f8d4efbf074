"""Torch tensors as read-only NumPy arrays, at once or when they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attnviz.errors import InvalidTrace


def owned(tensor: Tensor) -> NDArray[Any]:
    """A read-only, contiguous copy; a Block takes it as it is and does not copy again."""
    array = np.array(as_numpy(tensor), order="C")
    array.setflags(write=False)
    return array


def as_numpy(tensor: Tensor) -> NDArray[Any]:
    """The same numbers, not copied where they need not be.

    What a network computed in bfloat16 or float16 becomes float32, which holds every such number exactly.
    """
    moved = tensor.cpu()  # in its own numbers, which are fewer bytes
    return (moved.float() if moved.is_floating_point() else moved).numpy()


def one_per_head(groups: Tensor, heads: int) -> Tensor | Repeated:
    """Keys or values of groups of heads, [group, key, d_head], to be read as one per head."""
    return groups if len(groups) == heads else Repeated(groups, heads)


@dataclass(frozen=True, eq=False)
class Repeated:
    """Keys or values of groups of heads, [group, key, d_head], each the same for all heads of a group."""

    groups: Tensor
    heads: int

    @property
    def shape(self) -> tuple[int, ...]:
        """[head, key, d_head]."""
        return (self.heads, *self.groups.shape[1:])

    def numpy(self) -> NDArray[Any]:
        """Return each group's numbers once for each of its heads."""
        return np.repeat(as_numpy(self.groups), self.heads // len(self.groups), axis=0)


class OutputProjection:
    """A model's own W_O, which is read in place: this keeps the weight in memory, and not the model.

    Args:
        rows: the weight, [head · d_head, d_model].
        heads: how many it is made of.
    """

    def __init__(self, rows: Tensor, heads: int) -> None:
        self._heads = rows.detach().view(heads, -1, rows.shape[1])
        self._version = self._changes()

    @property
    def shape(self) -> tuple[int, ...]:
        """[head, d_head, d_model]."""
        return tuple(self._heads.shape)

    def __len__(self) -> int:
        return len(self._heads)

    def __getitem__(self, head: int) -> NDArray[Any]:
        """Return one head's slice, [d_head, d_model]; raises as `numpy`."""
        return self._read(self._heads[head])

    def numpy(self) -> NDArray[Any]:
        """Return all slices, [head, d_head, d_model]: on the processor and in float32, the weight itself.

        Raises:
            InvalidTrace: the weight was changed in place since the model ran, as an optimizer does.
        """
        return self._read(self._heads)

    def _read(self, part: Tensor) -> NDArray[Any]:
        if self._changes() != self._version:
            raise InvalidTrace(
                "The model has been trained since this trace was made, and its W_O is another one now. "
                "Trace the text again."
            )
        return as_numpy(part)

    def _changes(self) -> int:
        """How often the weight was changed; weights of inference mode are never trained."""
        return 0 if self._heads.is_inference() else self._heads._version  # noqa: SLF001 - no public name
