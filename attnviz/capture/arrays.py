"""Conversion of torch tensors to read-only NumPy arrays, immediately or on first read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attnviz.errors import InvalidTrace


def owned(tensor: Tensor) -> NDArray[Any]:
    """Return a read-only, contiguous copy that a Block uses without copying it again."""
    array = np.array(as_numpy(tensor), order="C")
    array.setflags(write=False)
    return array


def as_numpy(tensor: Tensor) -> NDArray[Any]:
    """Return the tensor as an array, copied only if necessary.

    bfloat16 and float16 become float32, which represents them exactly.
    """
    on_cpu = tensor.cpu()  # transferred before the conversion to a larger dtype
    return (on_cpu.float() if on_cpu.is_floating_point() else on_cpu).numpy()


def one_per_head(groups: Tensor, heads: int) -> Tensor | Repeated:
    """Return keys or values, [group, key, d_head], as [head, key, d_head]; they are repeated on access."""
    return groups if len(groups) == heads else Repeated(groups, heads)


@dataclass(frozen=True, eq=False)
class Repeated:
    """Keys or values, [group, key, d_head], shared by all heads of a group."""

    groups: Tensor
    heads: int

    @property
    def shape(self) -> tuple[int, ...]:
        """[head, key, d_head]."""
        return (self.heads, *self.groups.shape[1:])

    def __getitem__(self, heads: list[int]) -> Tensor:
        """Return the values for some of the heads, [head, key, d_head]."""
        return self.groups[[head // (self.heads // len(self.groups)) for head in heads]]

    def numpy(self) -> NDArray[Any]:
        """Return the values repeated for each head, [head, key, d_head]."""
        return np.repeat(as_numpy(self.groups), self.heads // len(self.groups), axis=0)


@dataclass(frozen=True, eq=False)
class OutputProjection:
    """A layer's W_O as a view of the model's weight; it keeps the weight in memory, but not the model.

    Attributes:
        weight: [head, d_head, d_model], a view of the model's weight.
        version: the number of in-place changes of the weight before the forward pass.
        heads: the indices of the selected heads; None: all.
    """

    weight: Tensor
    version: int
    heads: Sequence[int] | None = None

    @staticmethod
    def of(rows: Tensor, heads: int) -> OutputProjection:
        """Split a weight, [head · d_head, d_model], into one slice per head."""
        weight = rows.detach().view(heads, -1, rows.shape[1])
        return OutputProjection(weight, _version(weight))

    @property
    def shape(self) -> tuple[int, ...]:
        """[head, d_head, d_model]."""
        return (len(self.weight if self.heads is None else self.heads), *self.weight.shape[1:])

    def __getitem__(self, heads: list[int]) -> OutputProjection:
        """Select heads; their slices are copied only by `numpy`."""
        return replace(self, heads=heads if self.heads is None else [self.heads[head] for head in heads])

    def numpy(self) -> NDArray[Any]:
        """Return the slices; copies nothing for all heads in float32 on the CPU.

        Raises:
            InvalidTrace: the weight has been changed in place since the forward pass, for instance by an
                optimizer.
        """
        if _version(self.weight) != self.version:
            raise InvalidTrace(
                "The model has been trained since this trace was made, and its W_O has changed. "
                "Trace the text again."
            )
        return as_numpy(self.weight if self.heads is None else self.weight[[*self.heads]])


def _version(weight: Tensor) -> int:
    """Return the number of in-place changes; 0 for inference tensors, which do not count them."""
    return 0 if weight.is_inference() else weight._version  # noqa: SLF001 - it has no public name
