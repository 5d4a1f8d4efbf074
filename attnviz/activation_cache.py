"""Attention weights from an activation cache of TransformerLens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from attnviz.errors import InvalidTrace
from attnviz.trace import WEIGHTS_ALONE, Kind, Trace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from torch import Tensor

_PATTERN = re.compile(r"(blocks|encoder|decoder)\.(\d+)\.(attn|cross_attn)\.hook_pattern")


class ActivationCache(Protocol):
    """A mapping from names or layer numbers to arrays."""

    def keys(self) -> Iterable[Any]:
        """Return the names or layer numbers."""

    def __getitem__(self, name: Any, /) -> Tensor | ArrayLike:
        """Return the array with this name or layer number."""


def from_cache(
    cache: ActivationCache,
    tokens: Sequence[str],
    *,
    target_tokens: Sequence[str] = (),
    model: str = WEIGHTS_ALONE,
) -> Trace:
    """Return a trace of the attention weights in a cache, without queries, keys and values.

    >>> causal = [[[1, 0], [0.25, 0.75]]]  # [head, query, key]
    >>> from_cache({"blocks.3.attn.hook_pattern": [causal]}, ["The", " dog"]).blocks
    (<attnviz.Block: decoder, layer 3, 1 head, 2 × 2 tokens>,)

    Args:
        cache: an `ActivationCache` of TransformerLens, as `run_with_cache` returns it for one text; or a
            mapping from layers, counted from 0, to weights: [head, query, key] or [1, head, query, key], as
            torch tensors, NumPy arrays or lists. Layers can be missing. A single stack counts as a decoder
            if no token attends to later tokens, else as an encoder.
        tokens: the queries and keys, such as `model.to_str_tokens(text)`; in an encoder–decoder, the
            encoder's tokens.
        target_tokens: the decoder's tokens in an encoder–decoder.
        model: the model's name in the trace.

    Raises:
        InvalidTrace: the cache has no attention weights, or they do not match one text with these tokens.
    """
    layers: dict[Kind, dict[int, Tensor | ArrayLike]] = {"encoder": {}, "decoder": {}, "cross": {}}
    for name in cache.keys():  # noqa: SIM118  # iterating over TransformerLens' cache does not yield its names
        if isinstance(name, int):
            layers["encoder"][name] = cache[name]
        elif found := _PATTERN.fullmatch(str(name)):
            stack, number, attention = found.groups()
            kind: Kind = (
                "cross" if attention == "cross_attn" else "decoder" if stack == "decoder" else "encoder"
            )
            layers[kind][int(number)] = cache[name]
    if not any(layers.values()):
        raise InvalidTrace(
            "The cache has no attention weights. TransformerLens stores them under names such as "
            "“blocks.0.attn.hook_pattern”: include these names in names_filter."
        )
    encoder, decoder, cross = (
        [stack.get(number) for number in range(max(stack, default=-1) + 1)] for stack in layers.values()
    )
    return Trace.from_weights(
        encoder, tokens, decoder=decoder, cross=cross, target_tokens=target_tokens, model=model
    )
