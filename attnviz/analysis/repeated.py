"""Where heads look in words that are said twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnviz.trace import Block, Floats, Token


class RepeatedScores(NamedTuple):
    """The mean weights of a token that is said again, [layer, head].

    Attributes:
        prefix_matching: on the token that followed it the first time (Olsson et al. 2022).
        same_token: on itself, the first time.
        even: what each token would get if all got the same.
    """

    prefix_matching: Floats
    same_token: Floats
    even: float


def repeated_scores(blocks: Sequence[Block], offset: int) -> RepeatedScores:
    """The scores of all heads.

    Args:
        blocks: self-attention over one text, layer by layer. A word may be several tokens.
        offset: after how many characters the text begins again.

    Raises:
        ValueError: no token is found again.
    """
    tokens = blocks[0].query_tokens
    first = {token.end: place for place, token in enumerate(tokens) if _is_written(token, before=offset)}
    # By their ends: in some vocabularies a token begins with the space before its word, but not at the start.
    pairs = [
        (place, first[token.end - offset])
        for place, token in enumerate(tokens)
        if not token.special and token.end > offset and token.end - offset in first
    ]
    pairs = [(again, before) for again, before in pairs if _is_written(tokens[before + 1], before=offset)]
    if not pairs:
        raise ValueError("No token of this text is said again.")
    again, before = map(np.array, zip(*pairs, strict=True))
    weights = np.stack([block.weights for block in blocks])
    return RepeatedScores(
        weights[:, :, again, before + 1].mean(axis=-1),
        weights[:, :, again, before].mean(axis=-1),
        float(np.mean([1 / block.mask[again].sum(axis=-1) for block in blocks])),
    )


def _is_written(token: Token, before: int) -> bool:
    return not token.special and token.end <= before
