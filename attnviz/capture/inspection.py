"""Which attention layers a model has: found in one forward pass, and compared with transformers' own."""

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
from attnviz.capture.network import compute_with
from attnviz.capture.recorder import IMPLEMENTATION, Record, StopForward, attend, recording
from attnviz.errors import AttentionNotRead, AttnvizError, ModelNotSupported
from attnviz.models.catalogue import Entry
from attnviz.trace import Kind

TOLERANCE = 1e-5
"""How far a weight may be from transformers' own; families of the common kind are equal to the bit."""

MAX_ROUNDING = {torch.float32: 1e-3, torch.bfloat16: 2e-2, torch.float16: 1e-2}
"""How far two ways to compute one thing may be apart, as a share of its largest number."""

_known: WeakKeyDictionary[
    PreTrainedModel, tuple[int, list[tuple[AttentionLayer, str | None, str | None]]]
] = WeakKeyDictionary()
"""Of a caller's object, how it was built and what was found, with the names of the modules in its tree."""

_MAX_QUOTED = 200  # characters of an error of torch that ours repeats

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
        module: what computes it; ALBERT's one module computes many layers.
        kind, layer: which one it is; the layer counts from 0.
        heads: how many it has.
        mixer: the linear layer with its W_O, or None where it was not found.
        sample: what that layer was given when the model was inspected.
    """

    module: nn.Module
    kind: Kind
    layer: int
    heads: int
    mixer: nn.Module | None
    sample: Tensor | None = None

    @cached_property
    def projection(self) -> OutputProjection | None:
        """W_O as its heads' slices, the model's own weight; None where it was not found."""
        if self.mixer is None:
            return None
        weight = vars(self.mixer)["_parameters"].get("weight")
        rows: Tensor | None
        if type(self.mixer) in (nn.Linear, Conv1D) and type(weight) is nn.Parameter:
            rows = weight.detach() if isinstance(self.mixer, Conv1D) else weight.detach().T
        else:
            rows = _evaluated(self.mixer, self.sample)
        return None if rows is None else OutputProjection.of(rows, self.heads)


def _evaluated(mixer: nn.Module, sample: Tensor | None) -> Tensor | None:
    """W_O, [head · d_head, d_model], of a layer with adapters or with weights that are stored otherwise.

    It is what the layer makes of unit vectors, if that explains what it makes of a sample: a layer that
    rounds its input to 8 bits is no matrix.
    """
    if sample is None:
        return None
    try:
        with torch.inference_mode(), exactly(sample.device):
            units = torch.eye(sample.shape[-1], dtype=sample.dtype, device=sample.device)
            bias = mixer(torch.zeros_like(units[:1])).float()
            rows: Tensor = mixer(units).float() - bias
            whole = mixer(sample).float()
            off = (sample.float() @ rows + bias - whole).abs().max() / whole.abs().max()
    except Exception:  # noqa: BLE001 - whatever the code of a quantized layer raises for other inputs
        return None
    return rows if off <= MAX_ROUNDING.get(sample.dtype, 0) else None


def inspected(
    network: PreTrainedModel,
    inputs: Mapping[str, Tensor],
    entry: Entry,
    owned_by: PreTrainedModel | None = None,
) -> tuple[AttentionLayer, ...]:
    """Every attention layer, in the order in which they run, if transformers returns the same weights.

    Only for a model that is not shared yet.

    Args:
        inputs: what the network is called with; two tokens or more.
        owned_by: The caller's model object, which shares its parameters with the network. The result is
            cached as long as the object exists with the same modules; parameter values may change.

    Raises:
        ModelNotSupported: an attention passed the recorder by, or softmax(q·k·scale + bias + mask) is not the
            weights that transformers returns.
    """
    built = None if owned_by is None else _built(owned_by)
    if owned_by is not None and (known := _known.get(owned_by)) is not None and known[0] == built:
        modules = {None: None, **dict(network.named_modules())}
        return tuple(
            replace(layer, module=cast("nn.Module", modules[module]), mixer=modules[mixer])
            for layer, module, mixer in known[1]
        )
    with torch.inference_mode(), exactly(network.device):
        with recording() as records, linear_layers(network) as calls:
            run(network, inputs)
        if not records:
            raise AttentionNotRead(
                f"{type(network).__name__} has a custom attention, which attnviz cannot read."
            )
        expected = _by_transformers(network, inputs)
        others = dict(entry.without_weights)
        layers = tuple(
            AttentionLayer(record.module, kind, layer, record.query.shape[1], *mixer_of(record, calls))
            for record, (kind, layer) in zip(records, kinds_and_layers(network, records, others), strict=True)
        )
        _compare_all(type(network).__name__, layers, records, expected, entry)
    if owned_by is not None and built is not None:
        names = {id(None): None, **{id(module): name for name, module in network.named_modules()}}
        bare = nn.Module()  # so that no second tree is kept
        _known[owned_by] = (
            built,
            [
                (replace(layer, module=bare, mixer=None), names[id(layer.module)], names[id(layer.mixer)])
                for layer in layers
            ],
        )
    return layers


def _built(network: PreTrainedModel) -> int:
    """A hash of all that decides how a model computes, but for the values of its weights."""
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


def exactly(device: torch.device) -> torch.autocast:
    """In this block numbers keep their precision, also where a caller has autocast on."""
    return torch.autocast(device.type, enabled=False)


def run(network: PreTrainedModel, inputs: Mapping[str, Tensor], *, returning: bool = False) -> object:
    """One forward pass.

    Args:
        returning: whether the weights are in what it returns. They always are where the model computes
            attention in a way of its own.

    Raises:
        ModelNotSupported: it fails.
    """
    wanted = returning or custom_attention.has(network.config.model_type)
    try:
        with exactly(network.device):
            return network(**inputs, **({"output_attentions": True} if wanted else {}))
    except (AttnvizError, StopForward):
        raise
    except Exception as error:  # whatever a model's own code, or a hook of its owner, raises
        raise ModelNotSupported(
            f"{type(network).__name__} cannot read this: its forward pass raised {type(error).__name__}: "
            f"{str(error).strip()[:_MAX_QUOTED]}"
        ) from error


def weights_of(returned: object, kind: Kind) -> Sequence[Tensor]:
    """Of what a model returned, each layer's weights of one kind; none, if it returned none."""
    return next((found for key in _RETURNED[kind] if (found := getattr(returned, key, None))), ())


def returned_weights(returned: object, kind: Kind, entry: Entry) -> Sequence[Tensor]:
    """`weights_of` those layers that have weights; some models return something for the others, too."""
    found, numbers = weights_of(returned, kind), entry.numbers_of(kind)
    return [found[layer] for layer in numbers] if len(found) > len(numbers) else found


def compare(record: Record, weights: Tensor, where: str) -> None:
    """Whether softmax(q·k·scale + bias + mask) of what was recorded is the weights that the model returned.

    Raises:
        ModelNotSupported: they differ by more than `TOLERANCE`.
    """
    with record.precision():
        steps = (record.query, record.key, record.mask, record.scale, record.bias, record.cap, record.sinks)
        formula = attend(*steps)
    off = float((formula - weights).abs().max()) if formula.shape == weights.shape else math.inf
    if not off <= TOLERANCE:  # not a number is no equality either
        raise AttentionNotRead(
            f"What was recorded does not give the weights of {where}: they differ by up to {off:.1g}."
        )


def refuse_other_modules(
    network: PreTrainedModel, ran: Sequence[nn.Module], layers: Sequence[AttentionLayer]
) -> None:
    """Whether the attention modules that ran are those that ran when the model was inspected.

    Raises:
        ModelNotSupported: they are not.
    """
    if list(ran) != [layer.module for layer in layers]:
        raise ModelNotSupported(
            f"{type(network).__name__} ran {len(ran)} attentions, but {len(layers)} when it was loaded. "
            "What cannot be shown exactly is not shown."
        )


def kinds_and_layers(
    network: PreTrainedModel, records: Sequence[Record], others: Collection[int] = ()
) -> tuple[tuple[Kind, int], ...]:
    """(kind, layer) of each record of one forward pass, in the order in which they ran.

    The kind follows from the module's name; in a model of one stack, from its masks: one that lets no token
    attend forwards is a decoder. The layer follows from the order, since one module may serve several layers
    (ALBERT), among those that have attention weights.

    Args:
        records: of two tokens or more.
        others: the numbers of those that have none.
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
    """Collects (layer, its input) of every linear layer that runs inside.

    Only for a model that is not shared yet: every thread's calls are collected.
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
    """The layer inside of an adapter, as peft makes them (LoRA: Hu et al. 2022); without one, the layer."""
    return getattr(module, "base_layer", module)


def mixer_of(
    record: Record, calls: Sequence[tuple[nn.Module, Tensor]]
) -> tuple[nn.Module, Tensor] | tuple[None, None]:
    """The linear layer that holds an attention's W_O, which mixes its heads again, and what it was given.

    Its input was the concatenated head outputs (Vaswani et al. 2017, section 3.2.2), so no
    list of names is needed, and none can be wrong. None where no layer got exactly that: then the model does
    something else with them first.
    """
    concatenated = record.concatenated().float()
    for layer, given in calls:
        if given.shape != concatenated.shape:
            continue
        # An adapter's own layers may compute in other numbers than the model (LoRA: in float32).
        if torch.allclose(given.float(), concatenated, atol=TOLERANCE, rtol=0):
            return layer, given
    return None, None


def _by_transformers(network: PreTrainedModel, inputs: Mapping[str, Tensor]) -> object:
    """What the model returns with transformers' own attention."""
    if custom_attention.has(network.config.model_type):
        return run(network, inputs)  # it was loaded so
    compute_with(network, "eager")
    try:
        return run(network, inputs, returning=True)
    finally:
        compute_with(network, IMPLEMENTATION)


def _compare_all(
    name: str, layers: tuple[AttentionLayer, ...], records: list[Record], expected: object, entry: Entry
) -> None:
    entry = entry.of_kind(layers[0].kind)
    for kind in dict.fromkeys((*entry.kinds, *(layer.kind for layer in layers))):
        numbers = entry.numbers_of(kind) if kind in entry.kinds else ()
        returned = returned_weights(expected, kind, entry)
        ours = [record for record, layer in zip(records, layers, strict=True) if layer.kind == kind]
        if not len(ours) == len(returned) == len(numbers):
            raise AttentionNotRead(
                f"By its config {name} has {len(numbers)} layers of {kind} attention, but attnviz could "
                f"record {len(ours)} computations of it, and transformers returned the weights of "
                f"{len(returned)}."
            )
        for number, record, weights in zip(numbers, ours, returned, strict=True):
            compare(record, weights, f"{name}, {kind} layer {number + 1}")


def kind_by_name(module: str) -> Kind:
    """The kind of an attention in a model of an encoder and a decoder."""
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
