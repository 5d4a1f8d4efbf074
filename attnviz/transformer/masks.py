"""Masks: True in row i and column j means that query i may attend to key j."""

import torch
from jaxtyping import Bool
from torch import Tensor

from attnviz.errors import InvalidMask


def no_mask(queries: int, keys: int) -> Bool[Tensor, "{queries} {keys}"]:
    """Return a mask in which every query attends to every key, as in BERT and other encoders."""
    return torch.ones(queries, keys, dtype=torch.bool)


def causal_mask(tokens: int) -> Bool[Tensor, "{tokens} {tokens}"]:
    """Return a mask in which query i attends to keys 0 to i, as in GPT and other decoders."""
    return torch.ones(tokens, tokens, dtype=torch.bool).tril()


def padding_mask(real: Bool[Tensor, "*batch key"], queries: int) -> Bool[Tensor, "*batch {queries} key"]:
    """Return a mask in which no query attends to padding, where `real` is False.

    Raises:
        InvalidMask: every key of a sentence is padding.
    """
    mask = real.unsqueeze(-2).expand(*real.shape[:-1], queries, real.shape[-1])
    check_no_empty_rows(mask)
    return mask


def prefix_mask(tokens: int, prefix: int) -> Bool[Tensor, "{tokens} {tokens}"]:
    """Return a causal mask in which all queries attend to the first `prefix` keys (Raffel et al. 2020)."""
    in_prefix = torch.arange(tokens) < prefix
    return causal_mask(tokens) | in_prefix


def window_mask(tokens: int, before: int, after: int) -> Bool[Tensor, "{tokens} {tokens}"]:
    """Return a mask in which query i attends to keys i − before to i + after (Beltagy et al. 2020).

    Raises:
        InvalidMask: the window of a query is entirely outside the sentence.
    """
    position = torch.arange(tokens)
    distance = position.unsqueeze(0) - position.unsqueeze(1)
    mask = (distance >= -before) & (distance <= after)
    check_no_empty_rows(mask)
    return mask


def check_no_empty_rows(mask: Bool[Tensor, "*batch query key"]) -> None:
    """Check that every query has an unmasked key: the softmax of an empty row is undefined.

    Raises:
        InvalidMask: all keys of a query are masked; the message names the first such query by number, from 1.
    """
    empty = (~mask.any(dim=-1)).nonzero()
    if len(empty):
        raise InvalidMask(
            f"All keys are masked for query token {int(empty[0, -1]) + 1}, so the softmax of its row is "
            "undefined. Each row needs at least one unmasked key."
        )
