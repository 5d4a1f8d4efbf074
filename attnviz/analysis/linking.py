"""Which heads link two tokens: all heads, ranked by the weight between a query and a key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attnviz.analysis.distance import ranked
from attnviz.errors import AttnvizError
from attnviz.trace import Floats


class Link(NamedTuple):
    """How much one head (layer and head from 0) lets the query look at the key."""

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
        query: the query's index, from 0.
        key: the key's index, from 0.
    """
    link = weights[:, :, query, key]
    return tuple(Link(layer, head, float(link[layer, head])) for layer, head in ranked(link))


def rank_changes(before: Floats, after: Floats, query: int, key: int) -> tuple[LinkChange, ...]:
    """Every head by how much the weight from `query` to `key` moves, largest move (up or down) first.

    Args:
        before: [layer, head, query, key] of the first sentence.
        after: the same of the second sentence.
        query: the query's index in both, from 0.
        key: the key's index in both, from 0.

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
