"""The tokens of a text at which a head does most: examples of what it does, not a proof of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attnviz.experiments.text_index import TextIndex
from attnviz.trace import Floats


class Strongest(NamedTuple):
    """Tokens, the strongest first.

    Attributes:
        tokens: where they stand in the index, at most one of a line, and no special ones.
        values: how strong each is.
        median: how strong the token in the middle is, of all.
    """

    tokens: tuple[int, ...]
    values: tuple[float, ...]
    median: float


def strongest(
    index: TextIndex, layer: int, head: int, projection: Floats | None = None, most: int = 24
) -> Strongest:
    """The tokens that give one token the largest weight, or to which the head adds the longest vector.

    Args:
        index: the text, as far as it is read.
        layer, head: the head, from 0.
        projection: None for the largest weight, special tokens left out; else [d_head, d_model], the head's
            slice of W_O, for the length of its output times that (Kobayashi et al. 2020).
        most: how many at most.

    Raises:
        AttnvizError: the index has no such layer.
    """
    at, here = (index.layer(layer), head), slice(index.tokens)
    if projection is None:
        values = np.asarray(index.weight[at][here], np.float32)
    else:
        values = np.linalg.norm(np.asarray(index.output[at][here], np.float32) @ projection, axis=-1)
    words = np.flatnonzero(~index.special[here])
    lines = np.searchsorted(index.starts, words, side="right")
    order = np.argsort(-values[words], kind="stable")
    _, first = np.unique(lines[order], return_index=True)
    tokens = words[order[np.sort(first)[:most]]]
    median = float(np.median(values[words])) if len(words) else 0.0
    return Strongest(tuple(tokens.tolist()), tuple(values[tokens].tolist()), median)
