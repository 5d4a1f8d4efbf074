"""A token's residual stream, and the decomposition of the token's output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from attnviz.analysis.decomposition import Addition, Part, ResidualStream, decompose
from attnviz.analysis.norms import FrozenNorm
from attnviz.capture.arrays import owned
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.inspection import run
from attnviz.capture.model import MAX_ELEMENTS, Model, ModelInput
from attnviz.capture.scratch import ScratchModel
from attnviz.capture.storyteller import StorytellerModel
from attnviz.capture.translator import TranslatorModel
from attnviz.errors import AttnvizError, ModelNotSupported, quoted
from attnviz.interventions.editing import copy_with_shared_tensors
from attnviz.trace import Block, Floats, Kind, Token, Trace, checked_place
from attnviz.transformer.decoder_only import DecoderOnly
from attnviz.transformer.encoder_decoder import EncoderDecoder

TOLERANCE = 1e-5
"""Maximum reconstruction error of a vector, relative to its largest absolute value (at least 1)."""

_MAX_RESIDUAL = 1e-4  # maximum relative error of an output, which is a sum of many contributions
_NO_LOGITS = (
    "There are no logits to decompose: this stack has none, or they are not a linear function of its "
    "output. Its output can be decomposed instead."
)
_NOT_EXACT = "An exact decomposition is not possible."


@dataclass(frozen=True, eq=False)
class Decomposition:
    """One token's output as a sum of contributions; the divisor of each layer norm is held fixed.

    Every linear function of the output is a sum over the same parts: for any `direction` [d_model],
    `output @ direction` is the sum of all `part.vectors @ direction` (Elhage et al. 2021, direct logit
    attribution).

    Attributes:
        tokens: the tokens of the stack's input.
        place: the token's position, from 0.
        output: [d_model], the model's own output, after the last layer and the final layer norm.
        parts: see `analysis.decomposition.Part`.
        residual: the largest absolute difference between the sum of all parts and the output.
    """

    tokens: tuple[Token, ...]
    place: int
    output: Floats
    parts: tuple[Part, ...]
    residual: float
    _unembedding: _Unembedding | None

    def logit(self, token_id: int) -> tuple[Floats, float]:
        """Return the direction w, [d_model], and the bias b such that the token's logit is output · w + b.

        Args:
            token_id: the token's id, its row in the unembedding.

        Raises:
            AttnvizError: there is no such token.
            ModelNotSupported: the stack has no logits, or they are not linear in the output.
        """
        if self._unembedding is None:
            raise ModelNotSupported(_NO_LOGITS)
        return self._unembedding.row(token_id)


@dataclass(frozen=True, eq=False)
class LogitLens:
    """The logits of a token's vector after each layer (logit lens).

    Attributes:
        tokens, place: as in `Decomposition`.
        logits: [layer + 1, vocabulary], after the embeddings, the first layer, …, and the last layer (the
            model's logits). The final layer norm, if any, is applied before each unembedding.
    """

    tokens: tuple[Token, ...]
    place: int
    logits: Floats


def logit_lens(model: Model, text: str | ModelInput, place: int | str, kind: Kind | None = None) -> LogitLens:
    """Unembed a token's vector after each layer, with the model's own unembedding (Nostalgebraist 2020).

    Arguments and errors as for `decomposition`.

    Raises:
        ModelNotSupported: also if the stack has no logits, or they are not linear in its output.
    """
    recorded = _recorded(model, text, kind)
    tokens = recorded.blocks[0].query_tokens
    place = checked_place(place, tokens)
    unembedding = _unembedding(recorded)
    if unembedding is None:
        raise ModelNotSupported(_NO_LOGITS)
    with torch.inference_mode():
        after = torch.stack(recorded.after_each_layer(recorded.stream(place)))
        return LogitLens(
            tokens, place, owned(unembedding.logits(torch.vstack([after, recorded.output[place]])))
        )


def decomposition(
    model: Model, text: str | ModelInput, place: int | str, kind: Kind | None = None
) -> Decomposition:
    """Decompose one token's output into contributions.

    Args:
        text: the model's input.
        place: the token's position, from 0, or its text if it occurs once.
        kind: "encoder" or "decoder", the stack of the output; None: the decoder, if there is one.

    Raises:
        AttnvizError: the text is invalid or too long, or there is no such token or output.
        ModelNotSupported: a token's vector is changed by operations other than additions and layer norms.
    """
    recorded = _recorded(model, text, kind)
    tokens, width = recorded.blocks[0].query_tokens, recorded.output.shape[-1]
    place = checked_place(place, tokens)
    numbers = width * sum(block.weights[:, 0].size for block in recorded.blocks)
    if numbers > MAX_ELEMENTS:
        raise AttnvizError(
            f"The decomposition would have {numbers:,} elements; the limit is {MAX_ELEMENTS:,}. "
            "Shorten the text."
        )
    parts, output = decompose(recorded.stream(place), place), owned(recorded.output[place])
    total = np.sum([part.vectors.reshape(-1, width).sum(axis=0) for part in parts], axis=0)
    residual = float(np.abs(total - output).max())
    if not residual <= _MAX_RESIDUAL * max(1.0, float(np.abs(output).max())):
        raise ModelNotSupported(
            f"The contributions in {quoted(model.name)} do not add up to its output: the error is up "
            f"to {residual:.1g}. {_NOT_EXACT}"
        )
    return Decomposition(tokens, place, output, parts, residual, _unembedding(recorded))


def residual_stream(model: Model, text: str | ModelInput, place: int, kind: Kind) -> ResidualStream:
    """Return one token's residual stream; arguments and errors as for `decomposition`."""
    return _recorded(model, text, kind).stream(place)


class _Call(NamedTuple):
    """A call of a linear layer or layer norm; tensors are [token, width]. `module` is None at the output."""

    module: Any
    given: Tensor
    returned: Tensor


class _Unembedding(NamedTuple):
    """The unembedding: logits = output · weightᵀ · scale + bias."""

    weight: Tensor
    scale: Tensor
    bias: Tensor

    def logits(self, outputs: Tensor) -> Tensor:
        return outputs @ self.weight.T * self.scale + self.bias

    def row(self, token: int) -> tuple[Floats, float]:
        """Return the direction and the bias of a token's logit; see `Decomposition.logit`."""
        if token not in range(len(self.weight)):
            raise AttnvizError(
                f"There is no token {token} in the vocabulary: the last id is {len(self.weight) - 1}."
            )
        return owned(self.weight[token] * self.scale), float(self.bias[token])


class _Recorded(NamedTuple):
    """One forward pass through one stack.

    Attributes:
        name: the model's name.
        blocks: the stack's attention blocks, in execution order.
        calls: its linear layers and layer norms, in execution order.
        output: [token, d_model], the stack's output.
        network: the network that ran.
        logits: the model's logits, if it has a language-model head.
    """

    name: str
    blocks: tuple[Block, ...]
    calls: Sequence[_Call]
    output: Tensor
    network: Any
    logits: Tensor | None

    def stream(self, place: int) -> ResidualStream:
        """Reconstruct one token's residual stream from the inputs and outputs of the calls.

        The input of a layer norm is the output of the previous one, or the previous one's input (in
        pre-norm models), plus the outputs of linear layers in between.
        """
        shape = self.output.shape
        calls = [call for call in self.calls if shape in (call.given.shape, call.returned.shape)]
        start = next((call.given for call in calls if call.given.shape == shape), self.output)
        values: list[tuple[Tensor, _Call | None]] = [(start, None)]
        steps: list[Addition | FrozenNorm] = []
        linears: list[_Call] = []
        remaining = list(self.blocks)
        for call in (*calls, _Call(None, self.output, self.output)):
            if isinstance(call.module, nn.Linear | Conv1D):
                linears += [call] if call.returned.shape == shape else []
                continue
            norm, added = self._explain(call.given, values, linears)
            steps += [] if norm is None else [self._frozen(norm, place)]
            for linear in added:
                is_w_o = remaining and _close(linear.given, _concatenated_outputs(remaining[0]))
                block = remaining.pop(0) if is_w_o else None
                bias = getattr(linear.module, "bias", None) if is_w_o else None
                bias = torch.zeros(shape[-1]) if bias is None else bias.detach()
                steps.append(Addition(block, owned(linear.returned[place]), owned(bias)))
            linears = [] if added else linears
            values = [(call.given, None), (call.returned, call)]
        if remaining:
            raise self._refusal()
        return ResidualStream(owned(start[place]), steps)

    def after_each_layer(self, stream: ResidualStream) -> list[Tensor]:
        """Return the vectors after the embeddings and each layer but the last; apply any final layer norm."""
        added = next(at for at, step in enumerate(stream.steps) if isinstance(step, Addition))
        only_at_the_end = sum(isinstance(step, FrozenNorm) for step in stream.steps[added:]) == 1
        found, vector = [], stream.embeddings
        for step in stream.steps:
            if isinstance(step, FrozenNorm):
                vector = step.linear(vector) + step.shift
                continue
            if step.block is not None and step.block.kind != "cross":
                found.append(torch.tensor(vector))
            vector = vector + step.vector
        if not only_at_the_end:
            return found
        last = next(call for call in reversed(self.calls) if _is_norm(call.module))
        return [last.module(each) for each in found]

    def _explain(
        self, given: Tensor, values: Sequence[tuple[Tensor, _Call | None]], linears: Sequence[_Call]
    ) -> tuple[_Call | None, Sequence[_Call]]:
        """Return the layer norm (or None) and the linear layers with outputs that sum to `given`.

        There are two linear layers if attention and feed-forward network are parallel (GPT-J).
        """
        options = [
            (float((given - sum((one.returned for one in added), value)).abs().max()), norm, added)
            for value, norm in values
            for count in range(3)
            for added in combinations(linears, count)
        ]
        difference, norm, added = min(options, key=lambda option: option[0])
        if not difference <= TOLERANCE * max(1.0, float(given.abs().max())):
            raise self._refusal()
        return norm, added

    def _frozen(self, call: _Call, place: int) -> FrozenNorm:
        """Return the LayerNorm or RMSNorm with its divisor at one token; Gemma stores γ − 1."""
        weight, shift = call.module.weight.detach(), getattr(call.module, "bias", None)
        shift = torch.zeros_like(weight) if shift is None else shift.detach()
        for centred, gain in ((True, weight), (False, weight), (False, 1 + weight)):
            mean = call.given.mean(dim=-1, keepdim=True) if centred else 0
            scaled, normed = (call.given - mean) * gain, call.returned - shift
            deviation = scaled.square().sum(dim=-1) / (scaled * normed).sum(dim=-1)
            if _close(scaled / deviation[:, None], normed):
                return FrozenNorm(owned(gain), owned(shift), float(deviation[place]), centred)
        raise self._refusal()

    def _refusal(self) -> ModelNotSupported:
        return ModelNotSupported(
            f"{quoted(self.name)} changes a token’s vector by operations other than layer norms and the "
            f"addition of attention and feed-forward outputs. {_NOT_EXACT}"
        )


def _recorded(model: Model, text: str | ModelInput, kind: Kind | None) -> _Recorded:
    if model.dtype != "float32":
        raise ModelNotSupported(
            f"{quoted(model.name)} runs in {model.dtype}, which rounds too much for an exact "
            "decomposition. Load the model in float32, or call model.float()."
        )
    model.need_cpu()
    model.need_vectors()
    trace, outcomes = model.trace(text), model.outcomes(text, [()])
    kind = kind or ("decoder" if any(block.kind == "decoder" for block in trace.blocks) else "encoder")
    if kind == "cross":
        raise AttnvizError('Cross-attention contributes to the decoder’s output. Use kind="decoder".')
    blocks = trace.of_kind(kind)
    if kind == "decoder":
        blocks = tuple(block for block in trace.blocks if block.kind != "encoder")  # in execution order
    source = outcomes.source if kind == "encoder" else None
    output = torch.tensor(outcomes.states[0] if source is None else source[0])
    network, stack, run_stack = _stack_copy(model, trace, kind)
    calls: list[_Call] = []

    def record(module: nn.Module, given: tuple[Tensor, ...], returned: Tensor) -> None:
        if given[0].shape[:-1].numel() == len(output):
            # A copy: Falcon adds in place to the output of its feed-forward network.
            calls.append(_Call(module, given[0].flatten(0, -2), returned.flatten(0, -2).clone()))

    for module in stack.modules():
        if isinstance(module, nn.Linear | Conv1D) or _is_norm(module):
            module.register_forward_hook(record)
    with torch.inference_mode():
        logits = getattr(run_stack(), "logits", None)
    return _Recorded(model.name, blocks, calls, output, network, logits if source is None else None)


def _stack_copy(model: Model, trace: Trace, kind: Kind) -> tuple[Any, Any, Callable[[], object]]:
    """Return a copy of the network for hooks, its stack, and a function that runs it on the trace's input."""
    ids = {block.kind: torch.tensor([token.id for token in block.query_tokens]) for block in trace.blocks}
    network: Any
    if isinstance(model, HuggingFaceModel):
        network = copy_with_shared_tensors(model.network)
        if not network.config.is_encoder_decoder:
            return network, network.base_model, lambda: run(network, {"input_ids": ids[kind][None]})
        both = {"input_ids": ids["encoder"][None], "decoder_input_ids": ids["decoder"][None]}
        base = network.base_model
        return (
            network,
            base.get_encoder() if kind == "encoder" else base.get_decoder(),
            lambda: run(network, both),
        )
    if isinstance(model, ScratchModel):
        network = copy_with_shared_tensors(model.bert)
        return network, network, lambda: network(ids["encoder"])
    if isinstance(model, TranslatorModel):
        network = copy_with_shared_tensors(model.translator.model)
        return network, getattr(network, kind), lambda: network(ids["encoder"], ids["decoder"])
    if isinstance(model, StorytellerModel):
        network = copy_with_shared_tensors(model.storyteller.model)
        return network, network, lambda: network(ids["decoder"])
    raise ModelNotSupported("This model does not read text. Use a text model.")


def _unembedding(recorded: _Recorded) -> _Unembedding | None:
    """Return the unembedding; None if there are no logits, or they are not linear in the output."""
    network, output = recorded.network, recorded.output
    if recorded.logits is None:
        return None
    last: Any
    if isinstance(network, DecoderOnly):
        last = network.table
    else:
        last = (
            network.target_embedding.table
            if isinstance(network, EncoderDecoder)
            else network.get_output_embeddings()
        )
    if last is None:  # the logits of a classifier
        return None
    logits, weight = recorded.logits.flatten(0, -2), last.weight.detach()
    if weight.shape != (logits.shape[-1], output.shape[-1]):
        return None
    bias = torch.zeros(len(weight))
    # BART has a separate bias.
    for added in (getattr(last, "bias", None), getattr(network, "final_logits_bias", None)):
        bias = bias if added is None else bias + added.detach().flatten()
    plain = output @ weight.T
    scale = ((logits - bias) * plain).sum() / plain.square().sum()  # 1, or T5's 1 / √d_model
    found = _Unembedding(weight, scale, bias)
    return found if _close(found.logits(output), logits) else None


def _concatenated_outputs(block: Block) -> Tensor:
    """Return [token, head · d_head], the input of an attention's W_O."""
    return torch.tensor(block.output).transpose(0, 1).flatten(1)


def _is_norm(module: nn.Module) -> bool:
    return "Norm" in type(module).__name__ and isinstance(getattr(module, "weight", None), nn.Parameter)


def _close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    return bool((one - other).abs().max() <= TOLERANCE * max(1.0, float(other.abs().max())))
