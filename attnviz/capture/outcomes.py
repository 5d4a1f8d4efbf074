"""What a model makes of one text, many times at once: each time with other changes in its attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.interventions.edit import Edits
from attnviz.trace import Floats

AT_ONCE = 2**25
"""How many numbers one batch may need in memory: 128 MB."""

MOST_ROWS = 64
"""How many variants one batch has at most; more would not be faster."""

_VECTORS = 12  # of d_model numbers that a layer needs for each token, the feed-forward network's included
_MATRICES = 4  # of [query, key] numbers for each head: scores, masked scores, weights, and changed ones


@dataclass(frozen=True, eq=False)
class Outcomes:
    """One reading of a text for each variant of a model.

    Attributes:
        states: [variant, token, d_model], what the last layer puts out; the decoder's, where there is one
            beside an encoder.
        source: [variant, token, d_model], what the encoder puts out that such a decoder looks at, else None.
        probabilities: [variant, vocabulary], what the model expects at the place that was asked for; None
            where none was.
    """

    states: Floats
    source: Floats | None = None
    probabilities: Floats | None = None


def numbers(tokens: int, heads: int, d_model: int, vocabulary: int = 0) -> int:
    """How many numbers one variant needs in memory at once, about.

    Args:
        tokens: that it reads.
        heads, d_model: the sizes of a layer.
        vocabulary: how many tokens it tells the probabilities of at every place; 0: none.
    """
    return tokens * (_MATRICES * heads * tokens + _VECTORS * d_model + 2 * vocabulary)


def in_parts(variants: Sequence[Edits], each: int, run: Callable[[Sequence[Edits]], Outcomes]) -> Outcomes:
    """The outcomes of all variants, some at a time, so that memory stays bounded however many there are.

    Args:
        variants: the edits of each.
        each: how many numbers one of them needs, as `numbers` tells it.
        run: reads the text with some of the variants in one batch.
    """
    size = max(1, min(MOST_ROWS, AT_ONCE // each))
    parts = [run(variants[first : first + size]) for first in range(0, len(variants), size)]
    return Outcomes(
        _joined([part.states for part in parts]),
        None if parts[0].source is None else _joined([part.source for part in parts]),
        None if parts[0].probabilities is None else _joined([part.probabilities for part in parts]),
    )


def _joined(parts: Sequence[Floats | None]) -> Floats:
    together = np.concatenate([part for part in parts if part is not None])
    together.setflags(write=False)
    return together
