"""Where a model mixes its heads again: the matrix W_O, found by what it is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from attnviz.capture.arrays import owned
from attnviz.capture.recorder import Record
from attnviz.trace import Floats

_TOLERANCE = 1e-5


@contextmanager
def linear_layers(network: PreTrainedModel) -> Iterator[list[tuple[nn.Module, Tensor]]]:
    """Collects (layer, what it was given) of every linear layer that runs inside.

    Only for a model that nobody else uses yet: every thread's calls are collected.
    """
    calls: list[tuple[nn.Module, Tensor]] = []
    hooks = [
        module.register_forward_pre_hook(lambda layer, given: calls.append((layer, given[0])))
        for module in network.modules()
        if isinstance(module, nn.Linear | Conv1D)
    ]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


def mixers(
    records: Sequence[Record], calls: Sequence[tuple[nn.Module, Tensor]]
) -> tuple[nn.Module | None, ...]:
    """The linear layer of each record that holds its W_O.

    It is the one that was given the heads' outputs side by side (Vaswani et al. 2017, section 3.2.2), so no
    list of names is needed, and none can be wrong. None where no layer was given exactly that: then the model
    does something else with them first.

    Args:
        records: of one forward pass.
        calls: the linear layers of the same pass.
    """
    return tuple(_mixer(record, calls) for record in records)


def slices(mixer: nn.Module, heads: int) -> Floats:
    """W_O, cut into its heads' slices [head, d_head, d_model].

    Args:
        mixer: the linear layer that holds it.
        heads: how many there are.
    """
    weight = mixer.get_parameter("weight").detach()
    rows = weight if isinstance(mixer, Conv1D) else weight.T  # [head · d_head, d_model]
    return owned(rows.reshape(heads, -1, rows.shape[1]))


def _mixer(record: Record, calls: Sequence[tuple[nn.Module, Tensor]]) -> nn.Module | None:
    together = (record.weights @ record.value).transpose(1, 2).flatten(2)  # [1, token, head · d_head]
    for layer, given in calls:
        if given.shape == together.shape and torch.allclose(given, together, atol=_TOLERANCE, rtol=0):
            return layer
    return None
