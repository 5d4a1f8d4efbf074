"""The weight between two words of a text, wherever they stand in it and however many pieces they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnviz.trace import Floats, Token


class Span(NamedTuple):
    """Characters of a text, `text[start:end]`."""

    start: int
    end: int


def positions(tokens: Sequence[Token], span: Span) -> tuple[int, ...]:
    """The tokens, from 0, that stand for some of these characters; of a pair, in the first sentence."""
    return tuple(
        place
        for place, token in enumerate(tokens)
        if not token.special and token.sentence == 0 and token.start < span.end and token.end > span.start
    )


def weight_between(weights: Floats, queries: Sequence[int], keys: Sequence[int]) -> Floats:
    """How much one word looks at another: the sum over the other's pieces, the mean over its own.

    As `analysis.shown` merges pieces (Clark et al. 2019); nothing is left out, nothing rescaled.

    Args:
        weights: [..., query, key].
        queries, keys: the pieces of the word that looks, and of the one that is looked at.

    Returns:
        float32 [...].
    """
    rows = weights[..., list(queries), :][..., list(keys)]
    return np.asarray(rows.sum(axis=-1).mean(axis=-1), dtype=np.float32)
