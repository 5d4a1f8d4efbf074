"""Which heads link two tokens, and which two tokens a whole model links most."""

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
    """How much one head's link moves between two sentences; `change` is after − before."""

    layer: int
    head: int
    before: float
    after: float
    change: float


def rank_links(weights: Floats, query: int, key: int) -> tuple[Link, ...]:
    """Every head by the weight from `query` to `key`, strongest first; equal heads by layer, then head.

    Args:
        weights: [layer, head, query, key].
        query, key: from 0.
    """
    link = weights[:, :, query, key]
    return tuple(Link(layer, head, float(link[layer, head])) for layer, head in ranked(link))


def rank_changes(before: Floats, after: Floats, query: int, key: int) -> tuple[LinkChange, ...]:
    """Every head by how much the weight from `query` to `key` moves, largest move (up or down) first.

    Args:
        before, after: [layer, head, query, key] of the first sentence and of the second.
        query, key: from 0, in both.

    Raises:
        AttnvizError: the two have different shapes.
    """
    if before.shape != after.shape:
        raise AttnvizError(
            f"The first sentence shows {before.shape[2]} tokens and the second {after.shape[2]}: "
            "there is no same place in both to compare."
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
    """The pairs of tokens with the strongest links, each in its strongest head, strongest first.

    Excluded are special tokens, what a token gives to itself, and what a decoder gives to its first token:
    there heads look that found nothing to do (Clark et al. 2019; Xiao et al. 2024, "attention sinks").

    Args:
        blocks: of one kind, and so of the same tokens.
        maximum: how many pairs at most; fewer, where there are no more.
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
    """[query, key]: True where a link is of interest."""
    of_queries, of_keys = (
        np.array([not token.special for token in tokens]) for tokens in (block.query_tokens, block.key_tokens)
    )
    if block.kind == "decoder":
        of_keys[0] = False
    counts: Mask = of_queries[:, None] & of_keys
    if block.kind != "cross":
        np.fill_diagonal(counts, val=False)
    return counts
