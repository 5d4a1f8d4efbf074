"""Weights computed on demand from queries and keys, and attention without stored weights."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers.masking_utils import (
    bidirectional_mask_function,
    causal_mask_function,
    sdpa_mask,
    sliding_window_causal_mask_function,
)

from attnviz.capture.arrays import as_numpy
from attnviz.errors import InvalidTrace
from attnviz.trace import Floats

MAX_TILE = 2**24
"""The largest number of scores computed at once."""

_FLOAT_BYTES = 4


@dataclass(frozen=True, eq=False)
class MaskRule:
    """A mask as a function of query and key position, as transformers defines it.

    Attributes:
        arguments: the arguments of transformers' `sdpa_mask`, for all queries.
    """

    arguments: dict[str, Any]

    @staticmethod
    def causal(tokens: int, device: torch.device, window: int | None = None) -> MaskRule:
        """Return the causal mask: a token attends to itself and to earlier tokens.

        Args:
            tokens: the number of tokens.
            device: the device of the masks.
            window: the number of tokens that a token may attend to, including itself; None: no limit.
        """
        mask_function = (
            causal_mask_function if window is None else sliding_window_causal_mask_function(window)
        )
        return MaskRule(
            {
                "batch_size": 1,
                "q_length": tokens,
                "kv_length": tokens,
                "q_offset": 0,
                "device": device,
                "mask_function": mask_function,
            }
        )

    @property
    def is_causal(self) -> bool:
        """Whether the mask is causal without further restrictions."""
        arguments = self.arguments
        square = arguments["q_length"] == arguments["kv_length"] and not arguments.get("kv_offset")
        return square and arguments["mask_function"] is causal_mask_function and self._padding is None

    @property
    def allows_all(self) -> bool:
        """Whether every query may attend to every key."""
        return self.arguments["mask_function"] is bidirectional_mask_function and self._padding is None

    @property
    def _padding(self) -> Tensor | None:
        padding: Tensor | None = self.arguments.get("attention_mask")
        return None if padding is None or bool(padding.all()) else padding

    def rows(self, queries: Sequence[int]) -> Tensor:
        """Return bool [query, key], True where one of these queries may attend to a key."""
        parts = []
        for start, length in _runs(queries):
            place = {"q_length": length, "q_offset": self.arguments["q_offset"] + start}
            skips = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
            found: Any = sdpa_mask(**{**self.arguments, **place, **skips})
            parts.append(found[0, 0].expand(length, -1))
        return torch.cat(parts)


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (start, length) of each run of consecutive numbers."""
    breaks = [at for at in range(1, len(numbers)) if numbers[at] != numbers[at - 1] + 1]
    for start, end in zip([0, *breaks], [*breaks, len(numbers)], strict=True):
        yield numbers[start], end - start


class Bias(Protocol):
    """A rule for a bias, which is added to the scaled scores."""

    def select_heads(self, heads: list[int]) -> Bias:
        """Return the bias of these heads."""

    def rows(self, queries: Tensor) -> Tensor:
        """Return the bias for these query positions, [head, query, key]."""


@dataclass(frozen=True, eq=False)
class KeyBias:
    """A bias per head that depends only on the key's position: ALiBi in a decoder (Press et al. 2022).

    Attributes:
        line: [head, key], the bias.
    """

    line: Tensor

    def select_heads(self, heads: list[int]) -> KeyBias:
        """Return the bias of these heads."""
        return KeyBias(self.line[heads])

    def rows(self, queries: Tensor) -> Tensor:
        """Return the bias for these query positions, [head, query, key]."""
        return self.line[:, None].expand(-1, len(queries), -1)


@dataclass(frozen=True, eq=False)
class DistanceBias:
    """A bias per head that depends on the distance from query to key: T5 (Raffel et al. 2020).

    Attributes:
        line: [head, distance], the bias for distances key − query, from −(queries − 1) to keys − 1.
        queries: the number of queries.
    """

    line: Tensor
    queries: int

    def select_heads(self, heads: list[int]) -> DistanceBias:
        """Return the bias of these heads."""
        return replace(self, line=self.line[heads])

    def rows(self, queries: Tensor) -> Tensor:
        """Return the bias for these query positions, [head, query, key]."""
        first = self.queries - 1 - queries
        keys = torch.arange(self.line.shape[1] - self.queries + 1, device=self.line.device)
        return self.line[:, first[:, None] + keys]

    def any(self) -> Tensor:
        """Return whether any entry differs from 0, like `Tensor.any`."""
        return self.line.any()


@dataclass(frozen=True, eq=False)
class DisentangledBias:
    """DeBERTa's bias, which depends on the tokens and on their distance (He et al. 2021, eq. 4).

    Attributes:
        query, key: [head, token, d_head].
        position_key, position_query: [head, bucket, d_head], projected position embeddings, scaled; or None.
        buckets: [distance], the bucket of each distance query − key, from −(tokens − 1) to tokens − 1.
    """

    query: Tensor
    key: Tensor
    position_key: Tensor | None
    position_query: Tensor | None
    buckets: Tensor

    def select_heads(self, heads: list[int]) -> DisentangledBias:
        """Return the bias of these heads."""
        position_key, position_query = (
            None if each is None else each[heads] for each in (self.position_key, self.position_query)
        )
        return DisentangledBias(
            self.query[heads], self.key[heads], position_key, position_query, self.buckets
        )

    def rows(self, queries: Tensor) -> Tensor:
        """Return the bias for these query positions, [head, query, key]."""
        heads, keys, _ = self.key.shape
        distances = queries[:, None] - torch.arange(keys, device=queries.device) + keys - 1
        buckets = self.buckets[distances].expand(heads, -1, -1)
        bias = self.query.new_zeros(heads, len(queries), keys)
        if self.position_key is not None:
            bias = bias + (self.query[:, queries] @ self.position_key.mT).gather(-1, buckets)
        if self.position_query is not None:
            bias = bias + (self.key @ self.position_query.mT).gather(-1, buckets.mT).mT
        return bias


Attend = Callable[..., Tensor]


@dataclass(frozen=True, eq=False)
class VectorWeights:
    """A layer's weights, [head, query, key], computed row by row on demand, as in `eager` attention.

    They can differ by rounding from the weights in the model's forward pass, which ran with another kernel.

    Attributes:
        query: [head, query, d_head], in the model's dtype and on its device.
        key: [head or group of heads, key, d_head].
        places: the queries' positions in the text.
        mask, bias: rules, or None.
        scale, cap, sinks: as for `recorder.attend`.
        limit: the largest size of the full array, in bytes.
        attend: `recorder.attend`.
    """

    query: Tensor
    key: Tensor
    places: Sequence[int]
    mask: MaskRule | None
    bias: Bias | None
    scale: float
    cap: float | None
    sinks: Tensor | None
    limit: int
    attend: Attend

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, [head, query, key]."""
        return (*self.query.shape[:2], self.key.shape[1])

    def rows(self, head: int, queries: Sequence[int]) -> Floats:
        """Return the weights of one head, [query, key]; `head` and `queries` are indices into `query`."""
        places = [self.places[query] for query in queries]
        group = head // (len(self.query) // len(self.key))
        device = self.query.device
        with torch.inference_mode(), torch.autocast(device.type, enabled=False):
            bias = None
            if self.bias is not None:
                bias = self.bias.select_heads([head]).rows(torch.tensor(places, device=device))[None]
            mask = None
            if self.mask is not None:
                mask = additive(self.mask.rows(places), self.query.dtype)[None, None]
            sinks = None if self.sinks is None else self.sinks[head : head + 1]
            query, key = self.query[None, head : head + 1, [*queries]], self.key[None, group : group + 1]
            weights = self.attend(query, key, mask, self.scale, bias, self.cap, sinks)
            found: Floats = as_numpy(weights[0, 0])
        return found

    def allowed(self, queries: Sequence[int]) -> NDArray[np.bool_]:
        """Return bool [query, key], True where a query may attend; `queries` are indices into `query`."""
        if self.mask is None:
            return np.ones((len(queries), self.shape[2]), np.bool_)
        return self.mask.rows([self.places[query] for query in queries]).numpy(force=True)

    def check_size(self) -> None:
        """Raise if the full array is too large.

        Raises:
            InvalidTrace: it would take more memory than the limit.
        """
        check_size(self.limit, self.shape, _FLOAT_BYTES)

    def numpy(self) -> Floats:
        """Return the full array, [head, query, key]; errors as for `check_size`."""
        self.check_size()
        heads, queries, keys = self.shape
        found = np.empty((heads, queries, keys), np.float32)
        step = max(1, MAX_TILE // keys)
        for head in range(heads):
            for start in range(0, queries, step):
                places = range(start, min(start + step, queries))
                found[head, start : start + step] = self.rows(head, places)
        return found


@dataclass(frozen=True, eq=False)
class ComputedArray:
    """An array that is computed on access.

    Attributes:
        shape: its shape.
        compute: a function that returns the array as a tensor.
        item_bytes: bytes per element.
        limit: the largest size of the array, in bytes.
    """

    shape: tuple[int, ...]
    compute: Callable[[], Tensor]
    item_bytes: int
    limit: int

    def numpy(self) -> NDArray[Any]:
        """Return the array.

        Raises:
            InvalidTrace: it would take more memory than the limit.
        """
        check_size(self.limit, self.shape, self.item_bytes)
        with torch.inference_mode():
            return as_numpy(self.compute())


def check_size(limit: int, shape: tuple[int, ...], item_bytes: int) -> None:
    """Raise if an array would be too large.

    Args:
        limit: the largest size, in bytes.
        item_bytes: bytes per element.

    Raises:
        InvalidTrace: it would take more memory than the limit.
    """
    if (needed := int(np.prod(shape, dtype=np.int64)) * item_bytes) > limit:
        sizes = " × ".join(f"{size:,}" for size in shape)
        raise InvalidTrace(
            f"{sizes} numbers would take {needed / 1e9:,.2f} GB, more than max_weight_bytes "
            f"({limit / 1e9:,.2f} GB). Read rows with block.row(head, query), block.top(head, k) "
            "or block.pooled(head, size); select heads= and queries=; or set a larger max_weight_bytes."
        )


def additive(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a mask to add to the scores: 0 where allowed, else the lowest finite number of the dtype."""
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(
        ~allowed, torch.finfo(dtype).min
    )


def fast_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: MaskRule | None,
    scale: float,
    bias: Bias | None,
    cap: float | None,
    sinks: Tensor | None,
    attend: Attend,
) -> Tensor:
    """Return the head outputs, [1, head, query, d_head], from PyTorch's fast kernels; store no weights.

    With a bias, or with a non-causal mask, queries are processed in tiles; a tile uses only the keys that
    its queries may attend to. Caps and sinks, which the kernels do not support, are computed as in `eager`.

    Args:
        query, key, value: [1, head or group of heads, token, d_head].
        attend: `recorder.attend`.
    """
    groups = query.shape[1] // key.shape[1]
    kernel = nn.functional.scaled_dot_product_attention
    plain = bias is None and cap is None and sinks is None
    if plain and (mask is None or mask.is_causal):
        return kernel(query, key, value, is_causal=mask is not None, scale=scale, enable_gqa=groups > 1)
    queries, keys = query.shape[2], key.shape[2]
    all_keys = torch.ones(1, keys, dtype=torch.bool, device=query.device)
    step = max(1, MAX_TILE // (keys * query.shape[1]))
    outputs = []
    for start in range(0, queries, step):
        places = range(start, min(start + step, queries))
        allowed = all_keys if mask is None else mask.rows(places)
        used_keys = allowed.any(dim=0).nonzero()
        key_range = slice(int(used_keys[0]), int(used_keys[-1]) + 1)
        added = additive(allowed[:, key_range], query.dtype)[None, None]
        part, part_key, part_value = (
            query[:, :, start : start + step],
            key[:, :, key_range],
            value[:, :, key_range],
        )
        part_bias = None
        if bias is not None:
            part_bias = bias.rows(torch.tensor(places, device=query.device))[None, :, :, key_range]
        if cap is None and sinks is None:
            added = added if part_bias is None else part_bias + added
            outputs.append(
                kernel(part, part_key, part_value, attn_mask=added, scale=scale, enable_gqa=groups > 1)
            )
            continue
        weights = attend(part, part_key, added, scale, part_bias, cap, sinks)
        outputs.append(weights @ part_value.repeat_interleave(groups, dim=1))
    return torch.cat(outputs, dim=2)


def install_bias_rules(network: nn.Module, uses_rules: Callable[[], bool]) -> None:
    """Make modules that compute T5's or MPNet's bias return a rule when rules are used.

    The network must not be shared between threads yet.

    Args:
        uses_rules: returns whether the current forward pass uses rules.
    """
    for module in network.modules():
        if hasattr(module, "compute_position_bias"):
            setattr(module, "compute_position_bias", _mpnet_with_rule(module, uses_rules))  # noqa: B010 - as below
        if hasattr(module, "compute_bias") and hasattr(module, "relative_attention_bias"):
            setattr(module, "compute_bias", _t5_with_rule(module, uses_rules))  # noqa: B010 - for the type checker


def _t5_with_rule(module: Any, uses_rules: Callable[[], bool]) -> Callable[..., Tensor | DistanceBias]:
    compute, module_ref = type(module).compute_bias, weakref.ref(module)  # weak: see `custom_attention`

    def compute_bias(*lengths: int, **named: Any) -> Tensor | DistanceBias:
        if not uses_rules():
            found: Tensor = compute(module_ref(), *lengths, **named)
            return found
        query_length, key_length, *_ = lengths
        length = query_length + key_length - 1
        line = compute(module_ref(), 1, length, past_seen_tokens=query_length - 1)[0, :, 0]
        return DistanceBias(line, query_length)

    return compute_bias


def _mpnet_with_rule(module: Any, uses_rules: Callable[[], bool]) -> Callable[..., Tensor | DistanceBias]:
    compute, module_ref = type(module).compute_position_bias, weakref.ref(module)

    def compute_position_bias(states: Tensor, *more: Any, **named: Any) -> Tensor | DistanceBias:
        encoder: Any = module_ref()
        if not uses_rules():
            found: Tensor = compute(encoder, states, *more, **named)
            return found
        tokens = states.shape[1]
        distances = torch.arange(1 - tokens, tokens, device=states.device)
        buckets = encoder.relative_position_bucket(distances)
        return DistanceBias(encoder.relative_attention_bias(buckets).T, tokens)

    return compute_position_bias
