"""What changes between two sentences: the signed difference of their weights, token by token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.analysis.shown import Group, Shown
from attnviz.errors import AttnvizError
from attnviz.trace import Floats


@dataclass(frozen=True, eq=False)
class Change:
    """The second sentence's weights minus the first's.

    Attributes:
        values: float32 [..., query, key]; −inf where either sentence's mask forbids the cell.
        groups: rows and columns, named after both sentences: "tired → narrow" where they differ.
        differing: the shown indices, from 0, whose labels differ.
    """

    values: Floats
    groups: tuple[Group, ...]
    differing: tuple[int, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of rows and columns."""
        return tuple(group.label for group in self.groups)


def change(first_weights: Floats, first: Shown, second_weights: Floats, second: Shown) -> Change:
    """Second − first, for two sentences with equally many shown tokens.

    Args:
        first_weights: [..., query, key] of the first sentence, as shown (or scores, as shown).
        first: what is shown of the first sentence.
        second_weights: the same of the second sentence.
        second: what is shown of the second sentence.

    Raises:
        AttnvizError: the sentences show different numbers of tokens.
    """
    if len(first) != len(second):
        raise AttnvizError(
            f"The first sentence shows {len(first)} tokens and the second {len(second)}, so they cannot be "
            f"compared token by token. {_remedy(first, second)}"
        )
    pairs = list(zip(first.groups, second.groups, strict=True))
    differing = tuple(index for index, (one, other) in enumerate(pairs) if one.label != other.label)
    values = np.full(first_weights.shape, -np.inf, dtype=np.float32)
    open_cells = np.isfinite(first_weights) & np.isfinite(second_weights)
    np.subtract(second_weights, first_weights, out=values, where=open_cells)
    return Change(values, tuple(_both(one, other) for one, other in pairs), differing)


def largest_moves(changed: Change) -> tuple[tuple[str, str, float], ...]:
    """For every head, layer by layer, the link that moves most: (query label, key label, signed change)."""
    heads = changed.values.reshape(-1, *changed.values.shape[-2:])
    size = np.where(np.isfinite(heads), np.abs(heads), 0).reshape(len(heads), -1)
    queries, keys = np.unravel_index(size.argmax(axis=1), heads.shape[1:])
    return tuple(
        (changed.labels[query], changed.labels[key], float(head[query, key]))
        for head, query, key in zip(heads, queries, keys, strict=True)
    )


def _remedy(first: Shown, second: Shown) -> str:
    """What to do about different numbers of tokens: merge the pieces of a word that only one sentence has."""
    longest = max(_split_words(first) ^ _split_words(second), key=len, default=())
    if not longest:
        return "Compare sentences with equally many words."
    return f"The model reads a word as {len(longest)} pieces, {' '.join(longest)}: Merge pieces mends that."


def _split_words(shown: Shown) -> set[tuple[str, ...]]:
    """The words that are shown as several pieces, each as its pieces."""
    if shown.merge_words:
        return set()
    words = dict.fromkeys(token.word for token in shown.tokens if token.word is not None)
    pieces = (tuple(token.text for token in shown.tokens if token.word == word) for word in words)
    return {word for word in pieces if len(word) > 1}


def _both(one: Group, other: Group) -> Group:
    label = one.label if one.label == other.label else f"{one.label} → {other.label}"
    title = one.title if one.title == other.title else f"{one.title} → {other.title}"
    return Group(label, title, one.special and other.special, one.number, one.positions)
