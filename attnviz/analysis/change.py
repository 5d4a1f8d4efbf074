"""What changes between two sentences: the signed difference of their weights, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.analysis.aligned import Grid, grid
from attnviz.analysis.display_tokens import DisplayToken, DisplayTokens
from attnviz.trace import Floats


@dataclass(frozen=True, eq=False)
class Change(Grid):
    """The second sentence's weights minus the first's, on the grid of both.

    Attributes:
        values: float32 [..., query, key]; −inf where either sentence's mask forbids the cell, or where a word
            is in one sentence only.
    """

    values: Floats


def change(
    first_weights: Floats,
    first: Sequence[DisplayTokens],
    second_weights: Floats,
    second: Sequence[DisplayTokens],
) -> Change:
    """Second − first, word by word.

    Args:
        first_weights: [..., query, key] of the first sentence, as shown (or scores, as shown).
        first: what is shown of the first sentence: queries and keys, or one for both (self-attention).
        second_weights, second: the same of the second sentence.

    Raises:
        AttnvizError: the sentences share too few words; see `aligned.aligned_sentences`.
    """
    both = grid(first, second)
    before, after = both.place(first_weights, "first"), both.place(second_weights, "second")
    values = np.full(before.shape, -np.inf, dtype=np.float32)
    np.subtract(after, before, out=values, where=np.isfinite(before) & np.isfinite(after))
    return Change(**vars(both), values=values)


def largest_moves(
    values: Floats, queries: Sequence[DisplayToken], keys: Sequence[DisplayToken]
) -> tuple[tuple[str, str, float], ...]:
    """For every head, layer by layer, the link that moves most: (query label, key label, signed change).

    Args:
        values: [layer, head, query, key]; not finite where there is no change to speak of.
        queries, keys: of the rows and columns.
    """
    heads = values.reshape(-1, *values.shape[-2:])
    size = np.where(np.isfinite(heads), np.abs(heads), 0).reshape(len(heads), -1)
    rows, columns = np.unravel_index(size.argmax(axis=1), heads.shape[1:])
    return tuple(
        (queries[query].label, keys[key].label, float(head[query, key]))
        for head, query, key in zip(heads, rows, columns, strict=True)
    )
