"""Local attention of encoders: converts the returned weights to [query, key] over all tokens."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import wraps
from typing import Any

import torch
from torch import Tensor

NOTE = "This model does not compute weights outside of its encoder's sparse pattern. They count as masked."
REPEATED = (
    "BigBird's random blocks are its first block here. A weight of a token in it is the sum over all times "
    "that it is attended to."
)
SUMMARIES = "Rows of its encoder may sum to less than 1: the rest goes to summaries of blocks, not to tokens."


def whole(config: Any, layers: Sequence[Tensor], returned: Any, tokens: int) -> list[Tensor]:
    """Return [batch, head, query, key] of each layer, 0 where nothing is computed.

    Args:
        config: of a model of one of `families.LOCAL`.
        layers: the weights in the model's own layout.
        returned: the model's complete output.
        tokens: the number of input tokens.
    """
    if config.model_type == "longt5":
        return [_of_blocks(each, tokens) for each in layers]
    if config.model_type == "big_bird":
        return [_of_big_bird(each, config, tokens) for each in layers]
    every = _global(returned)
    return [_of_windows(each, None if every is None else every[at]) for at, each in enumerate(layers)]


def mask(config: Any, layer: int, tokens: int, returned: Any) -> Tensor:
    """Return [query, key], True where an encoder layer computes a weight; arguments as for `whole`."""
    places = torch.arange(tokens)
    if config.model_type == "big_bird":
        block = places // (config.block_size if is_sparse(config, tokens) else tokens)
        globally = (block == 0) | (block == block[-1])
        near: Tensor = (block[:, None] - block).abs() <= 1
        return near | globally | globally[:, None]
    apart = (places[:, None] - places).abs()
    every = _global(returned)
    first = 0 if every is None else every[layer].shape[-1]
    reach = config.local_radius if config.model_type == "longt5" else config.attention_window[layer] // 2
    found: Tensor = apart <= reach
    found[:first], found[:, :first] = True, True
    return found


def is_sparse(config: Any, tokens: int) -> bool:
    """Return whether BigBird computes weights of some blocks only: for short texts it computes all."""
    sparse: bool = config.attention_type == "block_sparse" and tokens > longest_whole(config)
    return sparse


def longest_whole(config: Any) -> int:
    """Return the largest number of tokens for which BigBird computes all weights."""
    return int((5 + 2 * config.num_random_blocks) * config.block_size)


def read_by_length(network: Any) -> None:
    """Let a BigBird choose its attention for each text by its length, safely in several threads.

    In transformers it replaces its modules at the first short text, and keeps the new ones.
    """
    base, most = network.base_model, longest_whole(network.config)
    _exchange(base, "block_sparse")
    full = copy.deepcopy(base, {id(each): each for each in (*base.parameters(), *base.buffers())})
    _exchange(full, "original_full")
    sparse = base.forward

    @wraps(sparse)
    def forward(input_ids: Tensor | None = None, *args: Any, **more: Any) -> Any:
        read = more["inputs_embeds"] if input_ids is None else input_ids
        return (full if read.shape[1] <= most else sparse)(input_ids, *args, **more)

    base.forward = forward


def _exchange(base: Any, attention: str) -> None:
    """Replace the attention modules of a BigBird, and let transformers capture the new ones' outputs."""
    if base.attention_type != attention:
        base.set_attention_type(attention)
        base._output_capturing_hooks_installed = False  # noqa: SLF001 - else it would ignore them


def _of_big_bird(weights: Tensor, config: Any, tokens: int) -> Tensor:
    """Return BigBird's weights (Zaheer et al. 2020) without padding.

    In evaluation mode, its random blocks are the first block. All but global queries therefore attend to
    each of its keys several times, with a weight that is returned once.
    """
    if not is_sparse(config, tokens):
        return weights
    found, size = weights.clone(), config.block_size
    found[:, :, size:-size, :size] *= 1 + config.num_random_blocks
    return found[..., :tokens, :tokens]


def _global(returned: Any) -> Sequence[Tensor] | None:
    """Return the weights of global tokens, [batch, head, key, query], which are the first in a text."""
    names = ("encoder_global_attentions", "global_attentions")
    return next((found for name in names if (found := getattr(returned, name, None))), None)


def _of_windows(weights: Tensor, every: Tensor | None) -> Tensor:
    """Return Longformer's and LED's weights; each row has global keys first, then those of its window."""
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
    """Return LongT5's weights, from [batch, block, head, query, key] with keys of a block and its neighbours.

    Further keys may follow, the summaries, which are not tokens.
    """
    batch, blocks, heads, size, _ = weights.shape
    found = weights.new_zeros(batch, heads, blocks * size, (blocks + 2) * size)
    for block in range(blocks):
        begin = block * size
        found[:, :, begin : begin + size, begin : begin + 3 * size] = weights[:, block, ..., : 3 * size]
    return found[:, :, :tokens, size : size + tokens]
