"""Torch tensors as read-only NumPy arrays, at once or when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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

    def __getitem__(self, heads: list[int]) -> Tensor:
        """Return the numbers of some of the heads, [head, key, d_head]."""
        return self.groups[[head // (self.heads // len(self.groups)) for head in heads]]

    def numpy(self) -> NDArray[Any]:
        """Return each group's numbers once for each of its heads."""
        return np.repeat(as_numpy(self.groups), self.heads // len(self.groups), axis=0)


@dataclass(frozen=True, eq=False)
class OutputProjection:
    """A model's own W_O, which is read in place: this keeps the weight in memory, and not the model.

    Attributes:
        weight: [head, d_head, d_model], a view of the model's.
        version: how often it had been changed in place when the model ran.
        heads: the numbers of those whose slices are read; None: all.
    """

    weight: Tensor
    version: int
    heads: Sequence[int] | None = None

    @staticmethod
    def of(rows: Tensor, heads: int) -> OutputProjection:
        """Return the slices of so many heads of a weight, [head · d_head, d_model]."""
        weight = rows.detach().view(heads, -1, rows.shape[1])
        return OutputProjection(weight, _version(weight))

    @property
    def shape(self) -> tuple[int, ...]:
        """[head, d_head, d_model]."""
        return (len(self.weight if self.heads is None else self.heads), *self.weight.shape[1:])

    def __getitem__(self, heads: list[int]) -> OutputProjection:
        """Return the slices of some of the heads, which are not copied before they are read."""
        return replace(self, heads=heads if self.heads is None else [self.heads[head] for head in heads])

    def numpy(self) -> NDArray[Any]:
        """Return the slices; of all heads, on the processor and in float32, the weight itself.

        Raises:
            InvalidTrace: the weight was changed in place since the model ran, as an optimizer does.
        """
        if _version(self.weight) != self.version:
            raise InvalidTrace(
                "The model has been trained since this trace was made, and its W_O is another one now. "
                "Trace the text again."
            )
        return as_numpy(self.weight if self.heads is None else self.weight[[*self.heads]])


def _version(weight: Tensor) -> int:
    """How often a weight was changed in place; one of inference mode is not counted, and never trained."""
    return 0 if weight.is_inference() else weight._version  # noqa: SLF001 - it has no public name
