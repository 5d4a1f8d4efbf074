"""The strongest links of a whole model: which token looks most at which, and in which head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnviz.trace import Block, Floats, Mask


class Strongest(NamedTuple):
    """A query, a key, and the head (layer and head from 0) that links the two most strongly."""

    query: int
    key: int
    layer: int
    head: int
    weight: float


def strongest(blocks: Sequence[Block], most: int) -> tuple[Strongest, ...]:
    """The pairs of tokens with the strongest links, each in its strongest head, strongest first.

    Left out are special tokens, what a token gives to itself, and what a decoder gives to its first token:
    there heads look that found nothing to do (Clark et al. 2019; Xiao et al. 2024, "attention sinks").

    Args:
        blocks: of one kind, and so of the same tokens.
        most: how many pairs at most; fewer, where there are no more.
    """
    best: Floats = np.zeros_like(blocks[0].weights[0])
    layers, heads = np.zeros((2, *best.shape), dtype=np.intp)
    for block in blocks:
        weights = block.weights
        stronger = weights.max(axis=0) > best
        layers[stronger] = block.layer
        heads[stronger] = weights.argmax(axis=0)[stronger]
        best = np.maximum(best, weights.max(axis=0))
    best[~_counts(blocks[0])] = 0
    order = np.argsort(-best, axis=None, kind="stable")[:most]
    places = zip(*np.unravel_index(order, best.shape), strict=True)
    return tuple(
        Strongest(
            int(query), int(key), int(layers[query, key]), int(heads[query, key]), float(best[query, key])
        )
        for query, key in places
        if best[query, key] > 0
    )


def _counts(block: Block) -> Mask:
    """[query, key]: True where a link says something about the text."""
    looks, looked_at = (
        np.array([not token.special for token in tokens]) for tokens in (block.query_tokens, block.key_tokens)
    )
    if block.kind == "decoder":
        looked_at[0] = False
    counts: Mask = looks[:, None] & looked_at
    if block.kind != "cross":
        np.fill_diagonal(counts, val=False)
    return counts
