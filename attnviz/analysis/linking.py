"""The heads with the largest weight between two tokens, and the pairs of tokens with the largest weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnviz.analysis.distance import ranked
from attnviz.errors import AttnvizError
from attnviz.trace import Block, Floats, Mask


class Link(NamedTuple):
    """The weight from a query to a key in one head (layer and head from 0)."""

    layer: int
    head: int
    weight: float


class LinkChange(NamedTuple):
    """The change of one head's weight between two sentences; `change` is `after` − `before`."""

    layer: int
    head: int
    before: float
    after: float
    change: float


def rank_links(weights: Floats, query: int, key: int) -> tuple[Link, ...]:
    """Rank all heads by the weight from `query` to `key`, largest first; ties by layer, then head.

    Args:
        weights: [layer, head, query, key].
        query, key: Indices of the tokens, from 0.
    """
    link = weights[:, :, query, key]
    return tuple(Link(layer, head, float(link[layer, head])) for layer, head in ranked(link))


def rank_changes(before: Floats, after: Floats, query: int, key: int) -> tuple[LinkChange, ...]:
    """Rank all heads by the change of the weight from `query` to `key`, largest absolute change first.

    Args:
        before, after: [layer, head, query, key], weights in the first and in the second sentence.
        query, key: Indices of the tokens in both sentences, from 0.

    Raises:
        AttnvizError: the two arrays have different shapes.
    """
    if before.shape != after.shape:
        raise AttnvizError(
            f"The first sentence has {before.shape[2]} tokens and the second {after.shape[2]}, so their "
            "positions cannot be compared."
        )
    first, second = before[:, :, query, key], after[:, :, query, key]
    pairs = [(at, float(first[at]), float(second[at])) for at in ranked(np.abs(second - first))]
    return tuple(LinkChange(*at, old, new, new - old) for at, old, new in pairs)


class StrongestLink(NamedTuple):
    """A query, a key, and the head with the largest weight between them (layer and head from 0)."""

    query: int
    key: int
    layer: int
    head: int
    weight: float


def strongest_links(blocks: Sequence[Block], maximum: int) -> tuple[StrongestLink, ...]:
    """Return the pairs of tokens with the largest weights, largest first, and the head of each weight.

    Special tokens, a token's attention to itself, and a decoder's attention to its first token are excluded,
    because special and first tokens are often default targets (Clark et al. 2019; Xiao et al. 2024: "sinks").

    Args:
        blocks: Blocks of one kind.
        maximum: Maximum number of pairs.
    """
    best: Floats = np.zeros_like(blocks[0].weights[0])
    layers, heads = np.zeros((2, *best.shape), dtype=np.intp)
    for block in blocks:
        weights = block.weights
        stronger = weights.max(axis=0) > best
        layers[stronger] = block.layer
        numbers = np.arange(len(weights)) if block.heads is None else np.array(block.heads)
        heads[stronger] = numbers[weights.argmax(axis=0)][stronger]
        best = np.maximum(best, weights.max(axis=0))
    best[~_included(blocks[0])] = 0
    order = np.argsort(-best, axis=None, kind="stable")[:maximum]
    places = zip(*np.unravel_index(order, best.shape), strict=True)
    return tuple(
        StrongestLink(
            int(query), int(key), int(layers[query, key]), int(heads[query, key]), float(best[query, key])
        )
        for query, key in places
        if best[query, key] > 0
    )


def _included(block: Block) -> Mask:
    """Return a mask, [query, key]: True for links that `strongest_links` includes."""
    queries, keys = (
        np.array([not token.special for token in tokens]) for tokens in (block.query_tokens, block.key_tokens)
    )
    if block.kind == "decoder":
        keys[0] = False
    included: Mask = queries[:, None] & keys
    if block.kind != "cross":
        np.fill_diagonal(included, val=False)
    return included
