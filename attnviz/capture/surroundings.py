"""What is added to what a layer's heads read: bias and residual connection; and the layer norm after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from attnviz.capture.arrays import owned
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.inspection import run
from attnviz.capture.model import Model
from attnviz.capture.recorder import Record, recording
from attnviz.capture.scratch import ScratchModel
from attnviz.capture.translator import TranslatorModel
from attnviz.errors import ModelNotSupported
from attnviz.interventions.editing import twin
from attnviz.trace import Floats
from attnviz.transformer.layers import EncoderLayer, EncoderLayerSteps

TOLERANCE = 1e-5
"""How far what is put together from the parts may be from the model's own, absolutely and relatively."""

_NOT_EXACT = "What cannot be put together exactly from its parts is not shown."


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What is added to what one layer's heads have read: Σⱼ αᵢⱼ f(xⱼ) + b_O + xᵢ; then perhaps a norm.

    Attributes:
        bias: [d_model], b_O.
        residual: [token, d_model], x, which goes around the attention.
        output: [token, d_model], what the model itself went on with.
        gain, shift: [d_model], γ and β of the layer norm; None: none follows, as where models norm what
            the attention reads instead (GPT-2).
        deviation: [token], what it divided by, √(σ² + ε).
    """

    bias: Floats
    residual: Floats
    output: Floats
    gain: Floats | None = None
    shift: Floats | None = None
    deviation: Floats | None = None


def surroundings(model: Model, text: str) -> tuple[Surroundings, ...]:
    """The surroundings of each layer's attention; of an encoder–decoder, of its encoder's.

    They are found by what is given to what, as W_O is, and each is proved: put together, the parts are what
    the model itself went on with.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the text cannot be read as it is.
        ModelNotSupported: the model does something else around its attention; the message says what is known.
    """
    tokens = model.tokens(text)
    ids = torch.tensor([token.id for token in tokens])
    with torch.inference_mode():
        if isinstance(model, HuggingFaceModel):
            return _found(model.network, ids)
        if isinstance(model, ScratchModel):
            return _of_ours(model.bert.encoder.layers, model.bert(ids).layers, model.bert(ids).hidden_states)
        if isinstance(model, TranslatorModel):
            network = model.translator.model
            steps = network.encoder(network.source_embedding(ids).output)
            return _of_ours(network.encoder.layers, steps.layers, steps.hidden_states)
    raise ModelNotSupported("This model reads no words.")


def _of_ours(
    layers: Any, steps: Sequence[EncoderLayerSteps], hidden_states: Sequence[Tensor]
) -> tuple[Surroundings, ...]:
    """Our own encoder tells its steps."""
    found = []
    for layer, its, residual in zip(layers, steps, hidden_states, strict=False):
        assert isinstance(layer, EncoderLayer)  # noqa: S101 - for the type checker
        bias = layer.attention.to_output.bias
        read = its.attention.concatenated @ layer.attention.to_output.weight.T
        norm = layer.attention_add_norm.norm
        found.append(_proved(read, bias, residual, its.attention_add_norm.output, norm, "attnviz"))
    return tuple(found)


class _Call(NamedTuple):
    """One linear layer or norm that ran, on vectors [token, width]."""

    module: nn.Module
    given: Tensor
    returned: Tensor

    def norms(self, vectors: Tensor) -> bool:
        """Whether it is a norm of such vectors."""
        return _is_norm(self.module) and self.given.shape == vectors.shape


def _found(network: PreTrainedModel, ids: Tensor) -> tuple[Surroundings, ...]:
    name = type(network).__name__
    own: Any = twin(network)  # hooks in it bother no other thread
    stack = own.get_encoder() if network.config.is_encoder_decoder else own
    calls: list[_Call] = []

    def hear(module: nn.Module, given: tuple[Tensor, ...], returned: Tensor) -> None:
        if given[0].shape[:-1].numel() == len(ids):
            calls.append(_Call(module, given[0].flatten(0, -2), returned.flatten(0, -2)))

    for module in stack.modules():
        if isinstance(module, nn.Linear | Conv1D) or _is_norm(module):
            module.register_forward_hook(hear)
    with recording() as records:
        run(stack, {"input_ids": ids[None]})
    found, start = [], 0
    for number, record in enumerate(records, start=1):
        around, start = _around(record, calls, start, f"layer {number} of {name}")
        found.append(around)
    return tuple(found)


def _around(record: Record, calls: Sequence[_Call], start: int, where: str) -> tuple[Surroundings, int]:
    """The surroundings of one attention, and where in `calls` its successors begin."""
    concatenated = record.concatenated()[0]  # [token, head · d_head]
    mixing = next((at for at in range(start, len(calls)) if _same(calls[at].given, concatenated)), None)
    if mixing is None:
        raise ModelNotSupported(f"The W_O of {where} was not found. {_NOT_EXACT}")
    mixed = calls[mixing].returned
    after = next((at for at in range(mixing + 1, len(calls)) if calls[at].norms(mixed)), None)
    added = None if after is None else calls[after].given - mixed
    before = [call.given for call in calls[start:mixing]]
    residual = next((given for given in before if added is not None and _same(given, added)), None)
    if after is None or residual is None:
        raise ModelNotSupported(
            f"In {where}, what follows the attention is not its output plus what goes around it: some models "
            f"add their feed-forward network at the same time. {_NOT_EXACT}"
        )
    linear = calls[mixing].module
    bias = getattr(linear, "bias", None)
    weight = linear.get_parameter("weight")
    read = concatenated @ (weight if isinstance(linear, Conv1D) else weight.T)
    bias = torch.zeros(mixed.shape[-1]) if bias is None else bias
    normed = _goes_on_normed(calls, after, where)
    output = calls[after].returned if normed else calls[after].given
    norm = calls[after].module if normed else None
    return _proved(read, bias, residual, output, norm, where), mixing + 1


def _goes_on_normed(calls: Sequence[_Call], after: int, where: str) -> bool:
    """Whether the next sub-layer's output is added to what the norm returned, or to what it was given."""
    given, returned = calls[after].given, calls[after].returned
    later = next((at for at in range(after + 1, len(calls)) if calls[at].norms(given)), None)
    if later is not None:
        for call in calls[after + 1 : later]:
            if call.returned.shape == given.shape:
                around = calls[later].given - call.returned
                if _same(around, returned):
                    return True
                if _same(around, given):
                    return False
    raise ModelNotSupported(f"What {where} goes on with after its attention was not found. {_NOT_EXACT}")


def _proved(
    read: Tensor, bias: Tensor, residual: Tensor, output: Tensor, norm: nn.Module | None, where: str
) -> Surroundings:
    """The parts, if together they give the output.

    Raises:
        ModelNotSupported: they do not.
    """
    whole = read + bias + residual
    gain = shift = deviation = None
    if norm is not None:
        gain = norm.get_parameter("weight")
        shift = getattr(norm, "bias", None)
        shift = torch.zeros_like(gain) if shift is None else shift
        epsilon = next(getattr(norm, name) for name in ("eps", "variance_epsilon") if hasattr(norm, name))
        deviation = (whole.var(dim=-1, correction=0) + epsilon).sqrt()
        whole = (whole - whole.mean(dim=-1, keepdim=True)) / deviation[:, None] * gain + shift
    if not torch.allclose(whole, output, atol=TOLERANCE, rtol=TOLERANCE):
        raise ModelNotSupported(
            f"Put together from its parts, the attention of {where} is off by "
            f"{float((whole - output).abs().max()):.1g}. {_NOT_EXACT}"
        )
    kept = (None if part is None else owned(part.detach()) for part in (gain, shift, deviation))
    return Surroundings(owned(bias.detach()), owned(residual), owned(output), *kept)


def _is_norm(module: nn.Module) -> bool:
    return "Norm" in type(module).__name__ and isinstance(getattr(module, "weight", None), nn.Parameter)


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=TOLERANCE, rtol=TOLERANCE)
