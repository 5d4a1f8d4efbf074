"""The heads with the largest weight between two tokens, and a model's strongest links."""

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
    """The change of one head's weight between two sentences; `change` is after − before."""

    layer: int
    head: int
    before: float
    after: float
    change: float


def rank_links(weights: Floats, query: int, key: int) -> tuple[Link, ...]:
    """Return all heads by the weight from `query` to `key`, largest first; ties by layer, then head.

    Args:
        weights: [layer, head, query, key].
        query, key: from 0.
    """
    link = weights[:, :, query, key]
    return tuple(Link(layer, head, float(link[layer, head])) for layer, head in ranked(link))


def rank_changes(before: Floats, after: Floats, query: int, key: int) -> tuple[LinkChange, ...]:
    """Return all heads by the change of the weight from `query` to `key`, largest absolute change first.

    Args:
        before, after: [layer, head, query, key] of the first sentence and of the second.
        query, key: from 0, in both.

    Raises:
        AttnvizError: the two have different shapes.
    """
    if before.shape != after.shape:
        raise AttnvizError(
            f"The first sentence has {before.shape[2]} tokens and the second {after.shape[2]}: "
            "positions cannot be compared."
        )
    first, second = before[:, :, query, key], after[:, :, query, key]
    pairs = [(at, float(first[at]), float(second[at])) for at in ranked(np.abs(second - first))]
    return tuple(LinkChange(*at, weight, moved, moved - weight) for at, weight, moved in pairs)


class Strongest(NamedTuple):
    """A query, a key, and the head (layer and head from 0) that links the two most strongly."""

    query: int
    key: int
    layer: int
    head: int
    weight: float


def strongest(blocks: Sequence[Block], maximum: int) -> tuple[Strongest, ...]:
    """Return the pairs of tokens with the strongest links, each in its strongest head, strongest first.

    Special tokens, a token's attention to itself, and a decoder's attention to its first token are excluded:
    they serve as default targets (Clark et al. 2019; Xiao et al. 2024, "attention sinks").

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
    best[~_counts(blocks[0])] = 0
    order = np.argsort(-best, axis=None, kind="stable")[:maximum]
    places = zip(*np.unravel_index(order, best.shape), strict=True)
    return tuple(
        Strongest(
            int(query), int(key), int(layers[query, key]), int(heads[query, key]), float(best[query, key])
        )
        for query, key in places
        if best[query, key] > 0
    )


def _counts(block: Block) -> Mask:
    """Return [query, key], True for links that are not excluded."""
    of_queries, of_keys = (
        np.array([not token.special for token in tokens]) for tokens in (block.query_tokens, block.key_tokens)
    )
    if block.kind == "decoder":
        of_keys[0] = False
    counts: Mask = of_queries[:, None] & of_keys
    if block.kind != "cross":
        np.fill_diagonal(counts, val=False)
    return counts
