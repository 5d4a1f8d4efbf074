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
        values: float32 [..., query, key], −1 to 1.
        groups: rows and columns, named after both sentences: "tired → narrow" where they differ.
        differing: the shown indices, from 0, whose labels differ.
    """

    values: Floats
    groups: tuple[Group, ...]
    differing: tuple[int, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(group.label for group in self.groups)


def change(first_weights: Floats, first: Shown, second_weights: Floats, second: Shown) -> Change:
    """Second − first, for two sentences with equally many shown tokens.

    Args:
        first_weights, second_weights: [..., query, key], as shown.
        first, second: what is shown of each sentence.

    Raises:
        AttnvizError: the sentences show different numbers of tokens.
    """
    if len(first) != len(second):
        merge = "" if first.merge_words and second.merge_words else "Merge word pieces into words, or change"
        raise AttnvizError(
            f"The first sentence shows {len(first)} tokens and the second {len(second)}, so they cannot be "
            f"compared token by token. {merge or 'Change'} just one word."
        )
    pairs = list(zip(first.groups, second.groups, strict=True))
    differing = tuple(index for index, (one, other) in enumerate(pairs) if one.label != other.label)
    return Change(second_weights - first_weights, tuple(_both(one, other) for one, other in pairs), differing)


def _both(one: Group, other: Group) -> Group:
    label = one.label if one.label == other.label else f"{one.label} → {other.label}"
    title = one.title if one.title == other.title else f"{one.title} → {other.title}"
    return Group(label, title, one.special and other.special, one.number, one.positions)


def largest_moves(changed: Change) -> tuple[tuple[str, str, float], ...]:
    """For every head, layer by layer, the link that moves most: (query label, key label, signed change)."""
    shape = changed.values.shape[-2:]
    moved = []
    for head in changed.values.reshape(-1, *shape):
        size = np.where(np.isfinite(head), np.abs(head), 0)
        query, key = np.unravel_index(int(size.argmax()), shape)
        moved.append((changed.labels[query], changed.labels[key], float(head[query, key])))
    return tuple(moved)
