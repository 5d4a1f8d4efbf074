"""Before a model is shown: is what we record what transformers' own attention does?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from attnviz.capture import own_attention
from attnviz.capture.projections import linear_layers, mixers, slices
from attnviz.capture.recorder import IMPLEMENTATION, Record, attend, recording
from attnviz.capture.roles import roles
from attnviz.errors import ModelNotSupported
from attnviz.models.catalogue import Entry
from attnviz.trace import Floats, Kind

TOLERANCE = 1e-5
"""How far a weight may be from transformers' own; families of the common kind are equal to the bit."""

_MOST_QUOTED = 200  # characters of an error of torch that ours repeats
_SO = "What cannot be shown exactly is not shown."

_RETURNED: Mapping[Kind, tuple[str, ...]] = {
    "encoder": ("encoder_attentions", "attentions"),
    "decoder": ("decoder_attentions", "attentions"),
    "cross": ("cross_attentions",),
}


@dataclass(frozen=True, eq=False)
class Place:
    """One attention of a model, in the order in which they run.

    Attributes:
        module: what computes it; ALBERT's one module has many places.
        kind, layer: what it is; the layer counts from 0.
        heads: how many it has.
        mixer: the linear layer with its W_O, or None where it was not found.
        projection: W_O as its heads' slices [head, d_head, d_model], or None where it was not found.
    """

    module: nn.Module
    kind: Kind
    layer: int
    heads: int
    mixer: nn.Module | None
    projection: Floats | None = None


def checked(network: PreTrainedModel, inputs: Mapping[str, Tensor], entry: Entry) -> tuple[Place, ...]:
    """Every attention of the model, after a comparison with what transformers returns for the same inputs.

    Only for a model that nobody else uses yet.

    Args:
        network: as `open_network` returns it.
        inputs: what it is called with; two tokens or more.
        entry: what is expected of it.

    Raises:
        ModelNotSupported: an attention passed the recorder by, or softmax(q·k·scale + bias + mask) is not the
            weights that transformers returns.
    """
    with torch.inference_mode():
        with recording() as records, linear_layers(network) as calls:
            run(network, inputs)
        expected = _by_transformers(network, inputs)
        if not records:
            raise ModelNotSupported(
                f"{type(network).__name__} computes attention in a way of its own, which attnviz cannot "
                f"read. {_SO}"
            )
        places = tuple(
            _place(record, kind, layer, mixer)
            for record, (kind, layer), mixer in zip(
                records, roles(network, records), mixers(records, calls), strict=True
            )
        )
        _compare(type(network).__name__, places, records, expected, entry)
    return places


def _place(record: Record, kind: Kind, layer: int, mixer: nn.Module | None) -> Place:
    heads = record.query.shape[1]
    return Place(record.module, kind, layer, heads, mixer, None if mixer is None else slices(mixer, heads))


def run(network: PreTrainedModel, inputs: Mapping[str, Tensor], *, returning: bool = False) -> object:
    """One forward pass.

    Args:
        network: as `open_network` returns it.
        inputs: what it is called with.
        returning: whether the weights are in what it returns. They always are where the model computes
            attention in a way of its own.

    Raises:
        ModelNotSupported: it fails.
    """
    wanted = returning or own_attention.has(network.config.model_type)
    try:
        return network(**inputs, **({"output_attentions": True} if wanted else {}))
    except (IndexError, RuntimeError, TypeError, AttributeError, KeyError) as error:
        raise ModelNotSupported(
            f"{type(network).__name__} cannot read this: {str(error).strip()[:_MOST_QUOTED]}"
        ) from error


def _by_transformers(network: PreTrainedModel, inputs: Mapping[str, Tensor]) -> object:
    """What the model returns with the attention that transformers calls `eager`."""
    if own_attention.has(network.config.model_type):
        return run(network, inputs)  # it was loaded so
    network.set_attn_implementation("eager")
    try:
        return run(network, inputs, returning=True)
    finally:
        network.set_attn_implementation(IMPLEMENTATION)


def _compare(
    name: str, places: tuple[Place, ...], records: list[Record], expected: object, entry: Entry
) -> None:
    for kind in dict.fromkeys((*entry.kinds, *(place.kind for place in places))):
        returned = next((found for key in _RETURNED[kind] if (found := getattr(expected, key, None))), ())
        ours = [record for record, place in zip(records, places, strict=True) if place.kind == kind]
        layers = entry.layers_of(kind) if kind in entry.kinds else 0
        if not len(ours) == len(returned) == layers:
            raise ModelNotSupported(
                f"{name} should have {layers} layers of {kind} attention, but {len(ours)} could be recorded. "
                f"It computes the others in a way of its own, or it is not what its config says. {_SO}"
            )
        for layer, (record, weights) in enumerate(zip(ours, returned, strict=True)):
            compare(record, weights, f"{name}, {kind} layer {layer + 1}")


def compare(record: Record, weights: Tensor, where: str) -> None:
    """Whether softmax(q·k·scale + bias + mask) of what was recorded is the weights that the model returned.

    Raises:
        ModelNotSupported: they differ by more than `TOLERANCE`.
    """
    _, stated = attend(record.query, record.key, record.mask, record.scale, record.bias)
    off = float((stated - weights).abs().max()) if stated.shape == weights.shape else math.inf
    if not off <= TOLERANCE:  # not a number is no equality either
        raise ModelNotSupported(
            f"What was recorded does not give the weights of {where}: they differ by up to {off:.1g}. {_SO}"
        )
