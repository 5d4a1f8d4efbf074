"""Record the attention of a transformers model while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from attnviz.capture.vectors import Bias, MaskRule, fast_attention
from attnviz.errors import AttentionNotRead, ModelNotSupported
from attnviz.interventions.changes import attend_with_edits

IMPLEMENTATION = "attnviz"
"""The `attn_implementation` of a model that is recorded."""

# Arguments that `eager` also ignores: the mask includes their effect, or they do not change the weights.
_IGNORED_ARGUMENTS = {
    *("deterministic", "is_causal", "sliding_window", "position_ids", "use_cache", "return_dict"),
    *("output_attentions", "output_hidden_states", "output_router_logits", "logits_to_keep"),
}


_SUPPORTED_DTYPES = {torch.float32, torch.bfloat16, torch.float16}


class Record(NamedTuple):
    """The inputs and weights of one attention module.

    In a recording of vectors, `mask` and `bias` are rules and `weights` is empty. In a recording of weights
    alone, `query`, `key` and `value` are empty.

    Attributes:
        query: [batch, head, token, d_head].
        key, value: [batch, head or group of heads, token, d_head].
        mask: [batch, 1, query, key], added to the scores; or a rule, or None.
        scale: the factor applied to q·k.
        bias: [batch, head, query, key], added to the scaled scores; or a rule, or None.
        weights: [batch, head, query, key], as multiplied with the values.
        cap: the bound of the soft cap, cap · tanh(score / cap), applied before the mask; or None.
        sinks: [head], an extra score per head that belongs to no token; or None.
        autocast: the dtype of automatic mixed precision during the attention; or None.
    """

    module: nn.Module
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Any
    scale: float
    bias: Any
    weights: Tensor
    cap: float | None = None
    sinks: Tensor | None = None
    autocast: torch.dtype | None = None

    def precision(self) -> torch.autocast:
        """Return a context with the precision in which the attention ran."""
        return torch.autocast(self.query.device.type, self.autocast, enabled=self.autocast is not None)

    def compact(self) -> Record:
        """Return a record that does not keep larger tensors alive: a query may be a view of fused QKV."""
        vectors = {name: getattr(self, name) for name in ("query", "key", "value")}
        views = {
            name: each for name, each in vectors.items() if each.untyped_storage().nbytes() > each.nbytes
        }
        return self._replace(**{name: each.clone() for name, each in views.items()})

    def without_tensors(self) -> Record:
        """Return the record without its tensors."""
        empty = self.query.new_empty(0)
        return Record(self.module, empty, empty, empty, None, self.scale, None, empty)

    def of(self, heads: Sequence[int] | None, queries: Sequence[int] | None) -> Record:
        """Return a copy for some heads and queries; None selects all of them."""
        if heads is None and queries is None:
            return self
        chosen: Any = slice(None) if heads is None else torch.tensor(heads, device=self.query.device)
        rows: Any = slice(None) if queries is None else torch.tensor(queries, device=self.query.device)
        key, value, sinks, bias, mask = self.key, self.value, self.sinks, self.bias, self.mask
        if heads is not None:
            groups = chosen // (self.query.shape[1] // key.shape[1])
            key, value, sinks = key[:, groups], value[:, groups], None if sinks is None else sinks[chosen]
        if isinstance(mask, Tensor):
            mask = mask[:, :, rows]
        if isinstance(bias, Tensor):
            bias = bias.expand(-1, self.query.shape[1], self.query.shape[2], -1)[:, chosen][:, :, rows]
        elif bias is not None and heads is not None:
            bias = bias.select_heads([*heads])
        return self._replace(
            query=self.query[:, chosen][:, :, rows],
            weights=self.weights[:, chosen][:, :, rows] if self.weights.numel() else self.weights,
            key=key,
            value=value,
            sinks=sinks,
            bias=bias,
            mask=mask,
        )

    def on_cpu(self) -> Record:
        """Return the record with its queries, keys, values and bias in CPU memory."""
        bias = None if self.bias is None else self.bias.cpu()
        return self._replace(query=self.query.cpu(), key=self.key.cpu(), value=self.value.cpu(), bias=bias)

    def concatenated(self) -> Tensor:
        """Return the concatenated head outputs, [batch, token, head · d_head]: the input of W_O."""
        value = per_head(self.value, self.weights.shape[1])
        with self.precision():
            return (self.weights @ value.to(self.weights.dtype)).transpose(1, 2).flatten(2)


def per_head(groups: Tensor, heads: int) -> Tensor:
    """Repeat keys or values, [batch, group, token, d_head], for each head of a group."""
    repeats = heads // groups.shape[1]  # grouped-query attention: several heads share one key
    return groups.repeat_interleave(repeats, dim=1) if repeats > 1 else groups


class StopForward(Exception):
    """Raised to end the forward pass after the last attention module to record."""


@dataclass
class Recording:
    """The state of one recording.

    Attributes:
        records: one per module that has run.
        end: the number of modules after which the forward pass is stopped; None: never.
        trim: function that trims a record, given the module's index in the pass.
        vectors: record queries and keys without computing weights.
    """

    records: list[Record]
    end: int | None
    trim: Callable[[int, Record], Record]
    vectors: bool


# A context variable, because one model serves many threads: each call has its own recording.
_recording: ContextVar[Recording | None] = ContextVar("attnviz_recording", default=None)


def _all(_: int, record: Record) -> Record:
    return record


@contextmanager
def recording(
    end: int | None = None, trim: Callable[[int, Record], Record] = _all, *, vectors: bool = False
) -> Iterator[list[Record]]:
    """Collect one record per attention module that runs inside this context, in order, in this thread only.

    Args:
        end: stop the forward pass after this many modules: later computations (for instance, the
            probabilities of all tokens) do not change the weights. None: do not stop it.
        trim: function that trims a record before it is stored, given the module's index in the pass.
        vectors: let the model use PyTorch's fast attention, and record rules instead of masks and biases.
    """
    records: list[Record] = []
    before = _recording.set(Recording(records, end, trim, vectors))
    try:
        yield records
    except StopForward:
        pass
    finally:
        _recording.reset(before)


def is_recording() -> bool:
    """Return whether this thread is recording."""
    return _recording.get() is not None


def records_vectors() -> bool:
    """Return whether this thread is recording vectors, with rules instead of masks and biases."""
    return (current := _recording.get()) is not None and current.vectors


def attend_fast(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: MaskRule | None,
    scale: float,
    bias: Bias | None = None,
    cap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Return the head outputs, [1, head, query, d_head], and record the vectors.

    Raises:
        ModelNotSupported: the mask or the bias is not a rule, or automatic mixed precision is on.
    """
    if isinstance(mask, Tensor) or isinstance(bias, Tensor):
        raise ModelNotSupported(f"{type(module).__name__} has a mask or a bias for which there is no rule.")
    if torch.is_autocast_enabled(query.device.type):
        raise ModelNotSupported(f"{type(module).__name__} runs in automatic mixed precision.")
    mask = None if mask is None or mask.allows_all else mask
    output = fast_attention(query, key, value, mask, scale, bias, cap, sinks, attend)
    add_record(Record(module, query, key, value, mask, scale, bias, query.new_empty(0), cap, sinks))
    return output


def add_record(record: Record) -> None:
    """Add a record, if this thread is recording."""
    if (current := _recording.get()) is None:
        return
    device = record.query.device.type
    if torch.is_autocast_enabled(device):  # enabled inside the forward pass, for instance by Accelerate
        record = record._replace(autocast=torch.get_autocast_dtype(device))
    current.records.append(current.trim(len(current.records), record))
    if len(current.records) == current.end:
        raise StopForward


def attend(
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    scale: float,
    bias: Tensor | None = None,
    cap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Compute softmax(QKᵀ · scale + bias + mask), operation by operation as transformers' `eager` does.

    For bfloat16 and float16, the softmax is computed in float32 and rounded, as in Llama and most other
    models; with sinks, it is computed in the model's dtype, as in GPT-OSS.

    Args:
        query: [batch, head, query, d_head].
        key: [batch, head or group of heads, key, d_head].
        mask: added to the scores: 0 where a query may attend, else the lowest number of the dtype; or None.
        scale: the factor applied to q·k.
        bias: [batch, head, query, key] or None.
        cap: the scores become cap · tanh(score / cap); None: no cap.
        sinks: [head], an additional score in each row, whose weight is not returned; or None.

    Returns:
        The weights, [batch, head, query, key].
    """
    # In place, because allocating the scores of long texts takes as long as computing them.
    scores = torch.matmul(query, per_head(key, query.shape[1]).transpose(2, 3)).mul_(scale)
    if bias is not None:
        scores = scores + bias
    if cap is not None:
        scores = torch.tanh(scores / cap) * cap
    if mask is not None:
        # A mask with another dtype, as under autocast, determines the dtype of the sum.
        scores = scores.add_(mask) if mask.dtype == scores.dtype else scores + mask
    if sinks is None:
        return nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    scores = torch.cat([scores, sinks.reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)], dim=-1)
    below_largest = scores - scores.max(dim=-1, keepdim=True).values
    return below_largest.softmax(dim=-1)[..., :-1].to(query.dtype)


def _recorded_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Any,
    scaling: float | None = None,
    dropout: float = 0.0,
    position_bias: Any = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, Tensor | None]:
    """Compute attention for transformers, with the signature of its attention functions.

    Masks and biases are tensors, or rules in a recording of vectors.
    """
    _check_unknown_arguments(module, query, dropout, others)
    scale = query.size(-1) ** -0.5 if scaling is None else scaling
    bias = position_bias if position_bias is not None and bool(position_bias.any()) else None
    if records_vectors():
        output = attend_fast(module, query, key, value, attention_mask, scale, bias, softcap, s_aux)
        return output.transpose(1, 2).contiguous(), None
    weights = attend(query, key, attention_mask, scale, bias, softcap, s_aux)
    weights, output = attend_with_edits(module, weights, per_head(value, query.shape[1]), attention_mask)
    add_record(Record(module, query, key, value, attention_mask, scale, bias, weights, softcap, s_aux))
    return output.transpose(1, 2).contiguous(), weights


def _check_unknown_arguments(
    module: nn.Module, query: Tensor, dropout: float, others: dict[str, Any]
) -> None:
    name = type(module).__name__
    unknown = sorted(
        key for key, given in others.items() if given is not None and key not in _IGNORED_ARGUMENTS
    )
    if unknown:
        raise AttentionNotRead(
            f"{name} changes its scores with {', '.join(unknown)}, which attnviz does not support."
        )
    if dropout:
        raise ModelNotSupported(
            f"{name} is in training mode, with dropout of attention weights. Call eval() first."
        )
    if query.dtype not in _SUPPORTED_DTYPES:
        raise ModelNotSupported(
            f"{name} computes in {query.dtype}, which attnviz does not support. Load the model in float32."
        )


def _mask(**given: Any) -> Tensor | MaskRule | None:
    """Return a mask for a forward pass, with the signature of transformers' mask functions."""
    return MaskRule(given) if records_vectors() else eager_mask(**given)


AttentionInterface.register(IMPLEMENTATION, _recorded_attention)
# Without this line, nothing fails, but no mask is applied.
AttentionMaskInterface.register(IMPLEMENTATION, _mask)
