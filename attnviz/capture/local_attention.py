"""Encoders that compute weights of near tokens only: what they return, as [query, key] of all tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

NOTE = (
    "Cells outside of the pattern of its encoder are not computed by this model. Here they count as masked."
)
SUMMARIES = "What rows of its encoder lack of 1 goes to summaries of blocks, which are no tokens."


def whole(family: str, layers: Sequence[Tensor], returned: Any) -> list[Tensor]:
    """[batch, head, query, key] of each layer, 0 where nothing is computed.

    Args:
        family: one of `families.LOCAL`.
        layers: what the model returns in place of them.
        returned: all that it returns.
    """
    if family == "longt5":
        states = getattr(returned, "encoder_last_hidden_state", None)
        return [_of_blocks(each, (returned[0] if states is None else states).shape[1]) for each in layers]
    every = _global(returned)
    return [_of_windows(each, None if every is None else every[at]) for at, each in enumerate(layers)]


def mask(config: Any, layer: int, tokens: int, returned: Any) -> Tensor:
    """[query, key], True where a layer of an encoder computes a weight; arguments as of `whole`."""
    places = torch.arange(tokens)
    apart = (places[:, None] - places).abs()
    every = _global(returned)
    first = 0 if every is None else every[layer].shape[-1]
    reach = config.local_radius if config.model_type == "longt5" else config.attention_window[layer] // 2
    found: Tensor = apart <= reach
    found[:first], found[:, :first] = True, True
    return found


def _global(returned: Any) -> Sequence[Tensor] | None:
    """The weights of global tokens, [batch, head, key, query], which are the first ones of a text."""
    names = ("encoder_global_attentions", "global_attentions")
    return next((found for name in names if (found := getattr(returned, name, None))), None)


def _of_windows(weights: Tensor, every: Tensor | None) -> Tensor:
    """Longformer and LED: behind those of the global tokens, each row has the weights of its window."""
    batch, heads, tokens, _ = weights.shape
    first = 0 if every is None else every.shape[-1]
    window = weights[..., first:]
    keys = torch.arange(tokens, device=weights.device)[:, None] + torch.arange(
        window.shape[-1], device=weights.device
    )
    found = weights.new_zeros(batch, heads, tokens, tokens + window.shape[-1] - 1)
    found.scatter_(-1, keys.expand(batch, heads, -1, -1), window)
    begin = window.shape[-1] // 2
    found = found[..., begin : begin + tokens].clone()
    if every is not None:
        found[..., :first] += weights[..., :first]
        found[:, :, :first] = every.transpose(2, 3)[..., :tokens]
    return found


def _of_blocks(weights: Tensor, tokens: int) -> Tensor:
    """LongT5: [batch, block, head, query, key], of a block's queries and of its and two more blocks' keys.

    Behind these keys there may be summaries, which are no tokens.
    """
    batch, blocks, heads, size, _ = weights.shape
    found = weights.new_zeros(batch, heads, blocks * size, (blocks + 2) * size)
    for block in range(blocks):
        begin = block * size
        found[:, :, begin : begin + size, begin : begin + 3 * size] = weights[:, block, ..., : 3 * size]
    return found[:, :, :tokens, size : size + tokens]
