"""What changes between two sentences: the signed difference of their weights, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.analysis.aligned import after_both
from attnviz.analysis.display_tokens import DisplayToken, DisplayTokens
from attnviz.errors import AttnvizError
from attnviz.trace import Floats


@dataclass(frozen=True, eq=False)
class Change:
    """The second sentence's weights minus the first's.

    Attributes:
        values: float32 [..., query, key]; −inf where either sentence's mask forbids the cell.
        queries, keys: rows and columns, named after both sentences: "tired → narrow" where they differ.
    """

    values: Floats
    queries: tuple[DisplayToken, ...]
    keys: tuple[DisplayToken, ...]


def change(
    first_weights: Floats,
    first: Sequence[DisplayTokens],
    second_weights: Floats,
    second: Sequence[DisplayTokens],
    texts: Sequence[str] = ("sentence",),
) -> Change:
    """Second − first, for two sentences with equally many shown tokens.

    Args:
        first_weights: [..., query, key] of the first sentence, as shown (or scores, as shown).
        first: what is shown of the first sentence: queries and keys, or one for both (self-attention).
        second_weights, second: the same of the second sentence.
        texts: what queries and keys are tokens of, as the error message calls it.

    Raises:
        AttnvizError: the sentences show different numbers of tokens.
    """
    for one, other, text in zip(first, second, texts, strict=True):
        if len(one) != len(other):
            raise AttnvizError(
                f"The first {text} shows {len(one)} tokens and the second {len(other)}, so they cannot be "
                f"compared token by token. {_remedy(one, other, text)}"
            )
    named = [
        tuple(after_both(a, b, a.label == b.label) for a, b in zip(one.groups, other.groups, strict=True))
        for one, other in zip(first, second, strict=True)
    ]
    values = np.full(first_weights.shape, -np.inf, dtype=np.float32)
    open_cells = np.isfinite(first_weights) & np.isfinite(second_weights)
    np.subtract(second_weights, first_weights, out=values, where=open_cells)
    return Change(values, named[0], named[-1])


def largest_moves(changed: Change) -> tuple[tuple[str, str, float], ...]:
    """For every head, layer by layer, the link that moves most: (query label, key label, signed change)."""
    heads = changed.values.reshape(-1, *changed.values.shape[-2:])
    size = np.where(np.isfinite(heads), np.abs(heads), 0).reshape(len(heads), -1)
    queries, keys = np.unravel_index(size.argmax(axis=1), heads.shape[1:])
    return tuple(
        (changed.queries[query].label, changed.keys[key].label, float(head[query, key]))
        for head, query, key in zip(heads, queries, keys, strict=True)
    )


def _remedy(first: DisplayTokens, second: DisplayTokens, text: str) -> str:
    """What to do about different numbers of tokens: merge the pieces of a word that only one sentence has."""
    longest = max(_split_words(first) ^ _split_words(second), key=len, default=())
    if not longest:
        return f"Compare {text}s with equally many words."
    return f"The model reads a word as {len(longest)} pieces, {' '.join(longest)}: Merge pieces mends that."


def _split_words(shown: DisplayTokens) -> set[tuple[str, ...]]:
    """The words that are shown as several pieces, each as its pieces."""
    if shown.merge_words:
        return set()
    words = dict.fromkeys(token.word for token in shown.tokens if token.word is not None)
    pieces = (tuple(token.text for token in shown.tokens if token.word == word) for word in words)
    return {word for word in pieces if len(word) > 1}
