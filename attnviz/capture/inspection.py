"""Find a model's attention layers, and compare the recorded weights with transformers' own."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from typing import cast, get_args
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from attnviz.capture import custom_attention
from attnviz.capture.arrays import OutputProjection
from attnviz.capture.network import set_attention
from attnviz.capture.recorder import IMPLEMENTATION, Record, StopForward, attend, recording
from attnviz.errors import AttentionNotRead, AttnvizError, ModelNotSupported
from attnviz.models.catalogue import Entry
from attnviz.trace import Kind

TOLERANCE = 1e-5
"""Maximum difference between recorded weights and transformers' own; for most families, they are equal."""

MAX_ROUNDING = {torch.float32: 1e-3, torch.bfloat16: 2e-2, torch.float16: 1e-2}
"""By dtype, the maximum difference between two computations, relative to the largest absolute value."""

_inspections: WeakKeyDictionary[
    PreTrainedModel, tuple[int, list[tuple[AttentionLayer, str | None, str | None]]]
] = WeakKeyDictionary()
"""By the caller's model object: a hash of its structure, and its layers with the names of their modules."""

_MAX_QUOTED = 200  # maximum number of characters of a torch error in a message

_RETURNED: Mapping[Kind, tuple[str, ...]] = {
    "encoder": ("encoder_attentions", "attentions"),
    "decoder": ("decoder_attentions", "attentions"),
    "cross": ("cross_attentions",),
}

# Names of cross-attention modules (BART and Marian, T5, NLLB, BERT).
_CROSS = frozenset({"encoder_attn", "EncDecAttention", "cross_attention", "crossattention", "cross_attn"})


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """One attention layer of a model.

    Attributes:
        module: the module that computes it; ALBERT's single module computes all layers.
        kind, layer: the kind of attention, and the layer's index from 0.
        heads: the number of heads.
        output_layer: the linear layer with its W_O; None if it was not found.
        sample: the input of `output_layer` during the inspection.
    """

    module: nn.Module
    kind: Kind
    layer: int
    heads: int
    output_layer: nn.Module | None
    sample: Tensor | None = None

    @cached_property
    def projection(self) -> OutputProjection | None:
        """W_O, split into one slice per head, without a copy if possible; None if it was not found."""
        if self.output_layer is None:
            return None
        weight = vars(self.output_layer)["_parameters"].get("weight")
        rows: Tensor | None
        if type(self.output_layer) in (nn.Linear, Conv1D) and type(weight) is nn.Parameter:
            rows = weight.detach() if isinstance(self.output_layer, Conv1D) else weight.detach().T
        else:
            rows = _evaluated_projection(self.output_layer, self.sample)
        return None if rows is None else OutputProjection.of(rows, self.heads)


def _evaluated_projection(output_layer: nn.Module, sample: Tensor | None) -> Tensor | None:
    """Return W_O, [head · d_head, d_model], of a layer with adapters or with quantized weights.

    W_O is the layer's output for unit vectors, without bias. Return None if W_O does not reproduce the output
    for a sample: a layer that rounds its input to 8 bits is not linear.
    """
    if sample is None:
        return None
    try:
        with torch.inference_mode(), without_autocast(sample.device):
            units = torch.eye(sample.shape[-1], dtype=sample.dtype, device=sample.device)
            bias = output_layer(torch.zeros_like(units[:1])).float()
            rows: Tensor = output_layer(units).float() - bias
            output = output_layer(sample).float()
            difference = (sample.float() @ rows + bias - output).abs().max() / output.abs().max()
    except Exception:  # noqa: BLE001 - quantized layers may raise anything for other inputs
        return None
    return rows if difference <= MAX_ROUNDING.get(sample.dtype, 0) else None


def inspect_layers(
    network: PreTrainedModel,
    inputs: Mapping[str, Tensor],
    entry: Entry,
    original: PreTrainedModel | None = None,
) -> tuple[AttentionLayer, ...]:
    """Return every attention layer, in execution order, after a comparison with transformers' weights.

    The network must not be shared between threads yet.

    Args:
        inputs: the arguments of a forward pass over two tokens or more.
        original: the caller's model object, if `network` is a copy that shares its weights. The result is
            cached for this object until its structure changes; the values of its weights may change.

    Raises:
        ModelNotSupported: a layer was not recorded, or softmax(q·k·scale + bias + mask) differs from
            the weights that transformers returns.
    """
    structure = None if original is None else _structure_hash(original)
    if original is not None and (cached := _inspections.get(original)) is not None and cached[0] == structure:
        modules = {None: None, **dict(network.named_modules())}
        return tuple(
            replace(layer, module=cast("nn.Module", modules[module]), output_layer=modules[output_layer])
            for layer, module, output_layer in cached[1]
        )
    with torch.inference_mode(), without_autocast(network.device):
        with recording() as records, linear_layers(network) as calls:
            run(network, inputs)
        if not records:
            raise AttentionNotRead(
                f"{type(network).__name__} has custom attention code that attnviz does not support."
            )
        expected = _run_transformers(network, inputs)
        others = dict(entry.without_weights)
        layers = tuple(
            AttentionLayer(
                record.module, kind, layer, record.query.shape[1], *find_output_layer(record, calls)
            )
            for record, (kind, layer) in zip(records, kinds_and_layers(network, records, others), strict=True)
        )
        _compare_all(type(network).__name__, layers, records, expected, entry)
    if original is not None and structure is not None:
        names = {id(None): None, **{id(module): name for name, module in network.named_modules()}}
        bare = nn.Module()  # so that the cache does not keep the copy alive
        _inspections[original] = (
            structure,
            [
                (
                    replace(layer, module=bare, output_layer=None),
                    names[id(layer.module)],
                    names[id(layer.output_layer)],
                )
                for layer in layers
            ],
        )
    return layers


def _structure_hash(network: PreTrainedModel) -> int:
    """Return a hash of everything that determines the computation, except the values of the weights."""
    configs = {id(own): own for each in network.modules() if (own := vars(each).get("config")) is not None}
    parts: list[object] = [str(vars(config)) for config in configs.values()]
    for name, module in network.named_modules():
        parts += name, id(module), type(module)
        for key, value in vars(module).items():
            hooks = value if key.endswith("_hooks") and isinstance(value, Mapping) else {}
            parts += (key, id(value)) if callable(value) else map(id, hooks.values())
    tensors = chain(network.named_parameters(), network.named_buffers())
    parts += ((name, each.shape, each.dtype, each.device) for name, each in tensors)
    return hash(tuple(parts))


def without_autocast(device: torch.device) -> torch.autocast:
    """Return a context that disables autocast."""
    return torch.autocast(device.type, enabled=False)


def run(network: PreTrainedModel, inputs: Mapping[str, Tensor], *, with_weights: bool = False) -> object:
    """Run one forward pass.

    Args:
        with_weights: include the weights in the result. A model with custom attention always includes them.

    Raises:
        ModelNotSupported: the forward pass failed.
    """
    with_weights = with_weights or custom_attention.has(network.config.model_type)
    try:
        with without_autocast(network.device):
            return network(**inputs, **({"output_attentions": True} if with_weights else {}))
    except (AttnvizError, StopForward):
        raise
    except Exception as error:  # the model's code, or a hook, may raise anything
        raise ModelNotSupported(
            f"The forward pass of {type(network).__name__} raised {type(error).__name__}: "
            f"{str(error).strip()[:_MAX_QUOTED]}"
        ) from error


def weights_of(returned: object, kind: Kind) -> Sequence[Tensor]:
    """Return the weights of one kind of attention, by layer, from a model's output; empty if it has none."""
    return next((found for key in _RETURNED[kind] if (found := getattr(returned, key, None))), ())


def returned_weights(returned: object, kind: Kind, entry: Entry) -> Sequence[Tensor]:
    """Return the layers' attention weights, without the tensors that some models return for other layers."""
    found, numbers = weights_of(returned, kind), entry.numbers_of(kind)
    return [found[layer] for layer in numbers] if len(found) > len(numbers) else found


def compare(record: Record, weights: Tensor, where: str) -> None:
    """Compare softmax(q·k·scale + bias + mask) of a record with the weights that the model returned.

    Raises:
        AttentionNotRead: they differ by more than `TOLERANCE`.
    """
    with record.precision():
        steps = (record.query, record.key, record.mask, record.scale, record.bias, record.cap, record.sinks)
        formula = attend(*steps)
    difference = float((formula - weights).abs().max()) if formula.shape == weights.shape else math.inf
    if not difference <= TOLERANCE:  # also true for NaN
        raise AttentionNotRead(
            f"The recorded queries and keys do not reproduce the weights of {where}: the difference is "
            f"up to {difference:.1g}."
        )


def refuse_other_modules(
    network: PreTrainedModel, ran: Sequence[nn.Module], layers: Sequence[AttentionLayer]
) -> None:
    """Raise unless the attention modules that ran are the ones that the inspection found.

    Raises:
        ModelNotSupported: they differ.
    """
    if list(ran) != [layer.module for layer in layers]:
        raise ModelNotSupported(
            f"{type(network).__name__} ran {len(ran)} attention modules, but {len(layers)} when it was "
            "loaded. attnviz cannot trace a model that skips or adds layers."
        )


def kinds_and_layers(
    network: PreTrainedModel, records: Sequence[Record], others: Collection[int] = ()
) -> tuple[tuple[Kind, int], ...]:
    """Return (kind, layer) of each record of one forward pass, in execution order.

    The kind follows from the module's name; in a model of one stack, from the masks: a stack without
    attention to later tokens is a decoder. The layer follows from the order among layers with attention
    weights, since one module may serve several layers (ALBERT).

    Args:
        records: the records of a pass over two tokens or more.
        others: indices of layers without attention weights.
    """
    names = {id(module): name for name, module in network.named_modules()}
    single: Kind = "decoder" if all(map(_is_causal, records)) else "encoder"
    numbers = {kind: (layer for layer in count() if layer not in others) for kind in get_args(Kind)}
    found: list[tuple[Kind, int]] = []
    for record in records:
        kind = kind_by_name(names[id(record.module)]) if network.config.is_encoder_decoder else single
        found.append((kind, next(numbers[kind])))
    return tuple(found)


@contextmanager
def linear_layers(network: PreTrainedModel) -> Iterator[list[tuple[nn.Module, Tensor]]]:
    """Collect every linear layer that runs inside this context, with its input.

    The network must not be shared between threads yet: calls of all threads are collected.
    """
    calls: list[tuple[nn.Module, Tensor]] = []

    def collect(layer: nn.Module, inputs: tuple[object, ...]) -> None:
        if inputs and isinstance(inputs[0], Tensor):
            calls.append((layer, inputs[0]))

    hooks = [
        module.register_forward_pre_hook(collect)
        for module in network.modules()
        if isinstance(inner_layer(module), nn.Linear | Conv1D) or "Linear" in type(module).__name__
    ]
    try:
        yield calls
    finally:
        for hook in hooks:
            hook.remove()


def inner_layer(module: nn.Module) -> object:
    """Return the layer that a peft adapter wraps (LoRA: Hu et al. 2022), or the layer itself."""
    return getattr(module, "base_layer", module)


def find_output_layer(
    record: Record, calls: Sequence[tuple[nn.Module, Tensor]]
) -> tuple[nn.Module, Tensor] | tuple[None, None]:
    """Return the linear layer with the W_O of an attention layer, and its input.

    This layer is recognized by its input, the concatenated head outputs (Vaswani et al. 2017, section 3.2.2),
    not by a list of module names. Return (None, None) if no layer has this input, for example because
    the model transforms the head outputs first.
    """
    concatenated = record.concatenated().float()
    for layer, given in calls:
        if given.shape != concatenated.shape:
            continue
        # An adapter's layers may have a different dtype from the model's (LoRA: float32).
        if torch.allclose(given.float(), concatenated, atol=TOLERANCE, rtol=0):
            return layer, given
    return None, None


def _run_transformers(network: PreTrainedModel, inputs: Mapping[str, Tensor]) -> object:
    """Return the result of the model with transformers' own attention."""
    if custom_attention.has(network.config.model_type):
        return run(network, inputs)  # the network was loaded with transformers' attention
    set_attention(network, "eager")
    try:
        return run(network, inputs, with_weights=True)
    finally:
        set_attention(network, IMPLEMENTATION)


def _compare_all(
    name: str, layers: tuple[AttentionLayer, ...], records: list[Record], expected: object, entry: Entry
) -> None:
    entry = entry.of_kind(layers[0].kind)
    for kind in dict.fromkeys((*entry.kinds, *(layer.kind for layer in layers))):
        numbers = entry.numbers_of(kind) if kind in entry.kinds else ()
        returned = returned_weights(expected, kind, entry)
        recorded = [record for record, layer in zip(records, layers, strict=True) if layer.kind == kind]
        if not len(recorded) == len(returned) == len(numbers):
            raise AttentionNotRead(
                f"According to its config, {name} has {len(numbers)} layers of {kind} attention, but attnviz "
                f"recorded {len(recorded)} layers, and transformers returned the weights of {len(returned)}."
            )
        for number, record, weights in zip(numbers, recorded, returned, strict=True):
            compare(record, weights, f"{name}, {kind} layer {number + 1}")


def kind_by_name(module: str) -> Kind:
    """Return the kind of an attention module in an encoder–decoder."""
    parts = set(module.split("."))
    if parts & _CROSS:
        return "cross"
    return "decoder" if "decoder" in parts else "encoder"


def _is_causal(record: Record) -> bool:
    if record.mask is None:
        return False
    shape = (record.query.shape[2], record.key.shape[2])
    forwards = torch.ones(shape, dtype=torch.bool).triu(1)
    forbidden = (record.mask < 0).expand(1, record.mask.shape[1], *shape)
    return bool(forbidden[..., forwards].all())
