"""The signed difference between the weights of two sentences, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.analysis.aligned import Grid, grid
from attnviz.analysis.display_tokens import DisplayToken, DisplayTokens
from attnviz.trace import Floats


@dataclass(frozen=True, eq=False)
class Change(Grid):
    """The second sentence's weights minus the first's, on a common grid.

    Attributes:
        values: float32 [..., query, key]; −inf where the cell is masked in either sentence, or where a word
            is in one sentence only.
    """

    values: Floats


def change(
    first_weights: Floats,
    first: Sequence[DisplayTokens],
    second_weights: Floats,
    second: Sequence[DisplayTokens],
) -> Change:
    """Return second − first, word by word.

    Args:
        first_weights: [..., query, key], displayed weights or scores of the first sentence.
        first: Shown queries and keys of the first sentence, or one for both (self-attention).
        second_weights, second: As `first_weights` and `first`, for the second sentence.

    Raises:
        AttnvizError: the sentences share too few words; see `aligned.aligned_sentences`.
    """
    common = grid(first, second)
    before, after = common.place(first_weights, "first"), common.place(second_weights, "second")
    values = np.full(before.shape, -np.inf, dtype=np.float32)
    np.subtract(after, before, out=values, where=np.isfinite(before) & np.isfinite(after))
    return Change(**vars(common), values=values)


def largest_changes(
    values: Floats, queries: Sequence[DisplayToken], keys: Sequence[DisplayToken]
) -> tuple[tuple[str, str, float], ...]:
    """Return each head's largest change, layer by layer: (query label, key label, signed change).

    Args:
        values: [layer, head, query, key]; not finite where undefined.
        queries, keys: Tokens of the rows and columns.
    """
    heads = values.reshape(-1, *values.shape[-2:])
    size = np.where(np.isfinite(heads), np.abs(heads), 0).reshape(len(heads), -1)
    rows, columns = np.unravel_index(size.argmax(axis=1), heads.shape[1:])
    return tuple(
        (queries[query].label, keys[key].label, float(head[query, key]))
        for head, query, key in zip(heads, rows, columns, strict=True)
    )
