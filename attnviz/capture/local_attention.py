"""Local attention in encoders: conversion of the returned weights to [query, key] over all tokens."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import wraps
from typing import Any

import torch
from torch import Tensor

NOTE = "The encoder computes only the weights in a sparse pattern; all other keys are shown as masked."
REPEATED = (
    "In evaluation mode, each random block of BigBird is the first block of the text. The weight of a token "
    "in this block is the sum over all its occurrences."
)
SUMMARIES = (
    "The shown weights of the encoder may sum to less than 1 per row, because summaries of blocks also have "
    "weights."
)


def full_weights(config: Any, layers: Sequence[Tensor], returned: Any, tokens: int) -> list[Tensor]:
    """Return the weights of each layer, [batch, head, query, key], 0 where none are computed.

    Args:
        config: the config of a model from `families.LOCAL`.
        layers: the weights in the model's own layout.
        returned: the model's complete output.
        tokens: the number of input tokens.
    """
    if config.model_type == "longt5":
        return [_from_blocks(each, tokens) for each in layers]
    if config.model_type == "big_bird":
        return [_from_big_bird(each, config, tokens) for each in layers]
    global_weights = _global(returned)
    return [
        _from_windows(each, None if global_weights is None else global_weights[at])
        for at, each in enumerate(layers)
    ]


def mask(config: Any, layer: int, tokens: int, returned: Any) -> Tensor:
    """Return [query, key], True where an encoder layer computes a weight; arguments as for `full_weights`."""
    places = torch.arange(tokens)
    if config.model_type == "big_bird":
        block = places // (config.block_size if is_sparse(config, tokens) else tokens)
        is_global = (block == 0) | (block == block[-1])
        is_near: Tensor = (block[:, None] - block).abs() <= 1
        return is_near | is_global | is_global[:, None]
    distance = (places[:, None] - places).abs()
    global_weights = _global(returned)
    first = 0 if global_weights is None else global_weights[layer].shape[-1]
    radius = config.local_radius if config.model_type == "longt5" else config.attention_window[layer] // 2
    found: Tensor = distance <= radius
    found[:first], found[:, :first] = True, True
    return found


def is_sparse(config: Any, tokens: int) -> bool:
    """Return whether BigBird computes the weights of only some blocks; for short texts it computes all."""
    sparse: bool = config.attention_type == "block_sparse" and tokens > max_full_length(config)
    return sparse


def max_full_length(config: Any) -> int:
    """Return the largest number of tokens for which BigBird computes all weights."""
    return int((5 + 2 * config.num_random_blocks) * config.block_size)


def choose_attention_by_length(network: Any) -> None:
    """Make BigBird choose its attention by the length of each text, in a thread-safe way.

    In transformers, BigBird replaces its modules permanently at the first short text.
    """
    base, max_length = network.base_model, max_full_length(network.config)
    _set_attention(base, "block_sparse")
    full = copy.deepcopy(base, {id(each): each for each in (*base.parameters(), *base.buffers())})
    _set_attention(full, "original_full")
    sparse = base.forward

    @wraps(sparse)
    def forward(input_ids: Tensor | None = None, *args: Any, **more: Any) -> Any:
        read = more["inputs_embeds"] if input_ids is None else input_ids
        return (full if read.shape[1] <= max_length else sparse)(input_ids, *args, **more)

    base.forward = forward


def _set_attention(base: Any, attention: str) -> None:
    """Replace the attention modules of a BigBird model, and let transformers capture their outputs."""
    if base.attention_type != attention:
        base.set_attention_type(attention)
        base._output_capturing_hooks_installed = False  # noqa: SLF001 - or new modules are ignored


def _from_big_bird(weights: Tensor, config: Any, tokens: int) -> Tensor:
    """Return BigBird's weights (Zaheer et al. 2020) without padding.

    In evaluation mode, its random blocks are all the first block. All queries except global ones therefore
    attend to each key of the first block several times, but the weight is returned only once.
    """
    if not is_sparse(config, tokens):
        return weights
    found, size = weights.clone(), config.block_size
    found[:, :, size:-size, :size] *= 1 + config.num_random_blocks
    return found[..., :tokens, :tokens]


def _global(returned: Any) -> Sequence[Tensor] | None:
    """Return the weights from the global tokens at the start, [batch, head, key, query]; None without any."""
    names = ("encoder_global_attentions", "global_attentions")
    return next((found for name in names if (found := getattr(returned, name, None))), None)


def _from_windows(weights: Tensor, global_weights: Tensor | None) -> Tensor:
    """Return Longformer's and LED's weights, from rows with the global keys and then the window's keys."""
    batch, heads, tokens, _ = weights.shape
    first = 0 if global_weights is None else global_weights.shape[-1]
    window = weights[..., first:]
    keys = torch.arange(tokens, device=weights.device)[:, None] + torch.arange(
        window.shape[-1], device=weights.device
    )
    found = weights.new_zeros(batch, heads, tokens, tokens + window.shape[-1] - 1)
    found.scatter_(-1, keys.expand(batch, heads, -1, -1), window)
    begin = window.shape[-1] // 2
    found = found[..., begin : begin + tokens].clone()
    if global_weights is not None:
        found[..., :first] += weights[..., :first]
        found[:, :, :first] = global_weights.transpose(2, 3)[..., :tokens]
    return found


def _from_blocks(weights: Tensor, tokens: int) -> Tensor:
    """Return LongT5's weights, from [batch, block, head, query, key] with keys of a block and its neighbours.

    Summaries, which are not tokens, may follow as further keys.
    """
    batch, blocks, heads, size, _ = weights.shape
    found = weights.new_zeros(batch, heads, blocks * size, (blocks + 2) * size)
    for block in range(blocks):
        begin = block * size
        found[:, :, begin : begin + size, begin : begin + 3 * size] = weights[:, block, ..., : 3 * size]
    return found[:, :, :tokens, size : size + tokens]
