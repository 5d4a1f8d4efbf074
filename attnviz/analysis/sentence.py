"""Names of tokens, and selections from a row of weights: strongest keys, changed keys, quiz options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.text import isolated
from attnviz.trace import Floats

_FUNCTION_WORD_LIST = """
a an the this that these those and or but nor so yet as if than because since while when where who whom
which what whose how why of in on at by for from to into onto over under with without about after before
between through during up down out off is am are was were be been being do does did have has had having will
would can could may might must shall should not no i you he she it we they me him her us them my your his
its our their too very also there here then just only
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())


class ChangedKeys(NamedTuple):
    """The largest increase and decrease of one query's weights; None below half a percentage point."""

    gain: tuple[str, float] | None
    loss: tuple[str, float] | None


def quiz_options(
    row: Floats, groups: Sequence[DisplayToken], maximum: int = 5, best: int | None = None
) -> list[int]:
    """Return the positions of the options of a quiz about a row's weights, in ascending order.

    The options are the correct answer, the largest other weight, and the largest of the rest, content words
    first. Tokens with weight 0 and ties with the answer are excluded, so that only one answer is correct.

    Args:
        row: [key], one row of weights.
        maximum: Maximum number of options.
        best: Position of the correct answer; None for the largest weight.
    """
    best = int(row.argmax()) if best is None else best
    other = [place for place in np.flatnonzero(row > 0) if not np.isclose(row[place], row[best], rtol=1e-5)]
    by_weight = sorted((int(place) for place in other), key=lambda place: -row[place])
    rest = sorted(by_weight[1:], key=lambda place: not is_content_word(groups[place]))
    return sorted([best, *by_weight[:1], *rest][:maximum])


def is_content_word(group: DisplayToken) -> bool:
    """Return whether a token is a complete word and not a function word."""
    word = group.label.casefold()
    is_complete = not group.special and not word.startswith("##") and any(map(str.isalnum, word))
    return is_complete and word not in _FUNCTION_WORDS


def strongest_keys(
    weights: Floats,
    query: int,
    queries: Sequence[DisplayToken],
    keys: Sequence[DisplayToken] | None = None,
    maximum: int = 3,
    minimum: float = 0.05,
) -> tuple[tuple[str, float], ...]:
    """Return the names and weights of the strongest keys of one query.

    Args:
        weights: [query, key], displayed weights of one head.
        query: Shown query, from 0.
        queries, keys: Rows and columns; `keys` is None for self-attention.
        maximum: Maximum number of keys.
        minimum: Minimum weight, except for the first key.
    """
    keys = queries if keys is None else keys
    row = weights[query]
    strongest = np.argsort(-row, kind="stable")[:maximum]
    chosen = [int(key) for nth, key in enumerate(strongest) if nth == 0 or row[key] >= minimum]
    return tuple((name_of(key, keys), float(row[key])) for key in chosen)


def changed_keys(
    change: Floats, query: int, queries: Sequence[DisplayToken], keys: Sequence[DisplayToken] | None = None
) -> ChangedKeys:
    """Return the keys with the largest increase and decrease of weight from one query.

    Args:
        change: [query, key], one head's changes, after − before.
        query: Shown query, from 0.
        queries, keys: Rows and columns; `keys` is None for self-attention.
    """
    keys = queries if keys is None else keys
    row = np.where(np.isfinite(change[query]), change[query], 0)  # without masked and unmatched cells
    up, down = int(row.argmax()), int(row.argmin())
    gain = (name_of(up, keys), float(row[up])) if row[up] >= 0.005 else None
    loss = (name_of(down, keys), float(row[down])) if row[down] <= -0.005 else None
    return ChangedKeys(gain, loss)


def names_of(groups: Sequence[DisplayToken]) -> list[str]:
    """Return each token's label, as `isolated` text, with the token's position if the label is not unique."""
    times = Counter(group.label for group in groups)
    return [
        isolated(group.label) + ("" if times[group.label] == 1 else f" (token {group.number})")
        for group in groups
    ]


def name_of(index: int, groups: Sequence[DisplayToken]) -> str:
    """Return one token's name, as in `names_of`."""
    return names_of(groups)[index]
