"""Align the words of two texts, or of one text split by two tokenizers: same, replaced, only in one."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.display_tokens import DisplayToken, DisplayTokens
from attnviz.errors import AttnvizError
from attnviz.spelling import SPACES
from attnviz.text import in_order, isolated
from attnviz.trace import Floats

Side = Literal["first", "second"]

Word = tuple[bool, str]
"""The identity of a word: whether the tokenizer added it, and its spelling."""


@dataclass(frozen=True, slots=True)
class Place:
    """One row or column of an aligned picture.

    Attributes:
        first, second: Index of the word in each text; None if the text has none here.
        same: True if both have the same word.
    """

    first: int | None
    second: int | None
    same: bool

    @property
    def shared(self) -> bool:
        """True if both texts have a word here, the same or a replacement."""
        return self.first is not None and self.second is not None

    def of(self, side: Side) -> int | None:
        """Return the index of one text's word here; None if it has none."""
        return self.first if side == "first" else self.second


@dataclass(frozen=True, slots=True)
class Overlap:
    """Numbers of words that two texts share, without punctuation and special tokens.

    Attributes:
        same: Number of words that are the same in both.
        aligned: Number of words matched with a word of the other text: the same, or a replacement.
        first, second: Number of words in each text.
    """

    same: int
    aligned: int
    first: int
    second: int

    @property
    def enough(self) -> bool:
        """True if at least half of the shorter text's words are the same in both, as alignment requires."""
        return self.same > 0 and 2 * self.same >= min(self.first, self.second)

    @property
    def is_low(self) -> bool:
        """True if fewer than half of the longer text's words are matched."""
        return 2 * self.aligned < max(self.first, self.second)


@dataclass(frozen=True, eq=False)
class Grid:
    """The rows and columns that two texts share, and those that only one has.

    Attributes:
        rows, columns: Places of queries and keys.
        queries, keys: Labels of rows and columns: "dog", "tired → narrow", "+ very".
    """

    rows: tuple[Place, ...]
    columns: tuple[Place, ...]
    queries: tuple[DisplayToken, ...]
    keys: tuple[DisplayToken, ...]

    @property
    def shared(self) -> list[int]:
        """The indices of the rows that both texts have."""
        return [at for at, place in enumerate(self.rows) if place.shared]

    @property
    def shared_queries(self) -> tuple[DisplayToken, ...]:
        """The labels of these rows."""
        return tuple(self.queries[at] for at in self.shared)

    def place(self, numbers: Floats, side: Side) -> Floats:
        """Return one text's numbers, [..., query, key], on the grid; NaN where it has no such word."""
        return on_places(
            numbers, [place.of(side) for place in self.rows], [place.of(side) for place in self.columns]
        )

    def place_rows(self, numbers: Floats, side: Side) -> Floats:
        """Return one text's numbers per query, [..., query], on the grid."""
        return on_places(numbers[..., None], [place.of(side) for place in self.rows], [0])[..., 0]


def align(first: Sequence[Word], second: Sequence[Word], exchange: bool = True) -> tuple[Place, ...]:
    """Align two texts so that as many equal words as possible are matched, each text in its own order.

    The equal words are a longest common subsequence (Wagner & Fischer 1974) that keeps the most neighbours
    together, so that a repeated word is matched along with its neighbours. Between two of these words,
    different words are matched one by one if both texts have the same number of them, and if no word would
    be matched with punctuation or a special token.

    Args:
        exchange: Allow matches of different words.

    Returns:
        Every word of either text exactly once; align(second, first) is the same with the sides swapped,
        except for the order of unmatched words between the same two words.
    """
    anchors = _common(list(first), list(second))
    places: list[Place] = []
    i = j = 0
    for to_i, to_j in [*anchors, (len(first), len(second))]:
        left, right = range(i, to_i), range(j, to_j)
        of_a_kind = len(left) == len(right) and all(
            _sort_of(first[one]) == _sort_of(second[other]) for one, other in zip(left, right, strict=True)
        )
        if exchange and of_a_kind:
            places += [Place(one, other, same=False) for one, other in zip(left, right, strict=True)]
        else:
            places += [Place(one, None, same=False) for one in left]
            places += [Place(None, other, same=False) for other in right]
        if to_i < len(first):
            places.append(Place(to_i, to_j, same=True))
        i, j = to_i + 1, to_j + 1
    return tuple(places)


def aligned_sentences(first: DisplayTokens, second: DisplayTokens) -> tuple[Place, ...]:
    """Align two texts that one model reads, ignoring case.

    Raises:
        AttnvizError: the texts have too few words in common; see `Overlap.enough`.
    """
    places = align([_word(group) for group in first.groups], [_word(group) for group in second.groups])
    shared = overlap(places, first.groups, second.groups)
    if not shared.same:
        raise AttnvizError(
            "The two texts have no word in common. Compare texts that share most of their words."
        )
    if not shared.enough:
        raise AttnvizError(
            f"Of the {min(shared.first, shared.second)} words of the shorter text, only {shared.same} "
            f"{'is' if shared.same == 1 else 'are'} in the other in the same order; at least half must be. "
            "Compare texts that share most of their words."
        )
    return places


def grid(
    first: Sequence[DisplayTokens],
    second: Sequence[DisplayTokens],
) -> Grid:
    """Align the rows and columns of two texts.

    Args:
        first, second: Shown queries and keys of each text, or one for both (self-attention).
    """
    sides = [
        (places := aligned_sentences(one, other), named(places, one.groups, other.groups))
        for one, other in zip(first, second, strict=True)
    ]
    (rows, queries), (columns, keys) = sides[0], sides[-1]
    return Grid(rows, columns, queries, keys)


def overlap(
    places: Sequence[Place], first: Sequence[DisplayToken], second: Sequence[DisplayToken]
) -> Overlap:
    """Count the words that two texts share.

    Args:
        places: Result of `align`.
    """
    own = [place for place in places if place.first is not None and _is_word(first[place.first])]
    return Overlap(
        same=sum(place.same for place in own),
        aligned=sum(place.shared for place in own),
        first=sum(map(_is_word, first)),
        second=sum(map(_is_word, second)),
    )


def named(
    places: Sequence[Place],
    first: Sequence[DisplayToken],
    second: Sequence[DisplayToken],
) -> tuple[DisplayToken, ...]:
    """Return the label of each place: "dog", "tired → narrow", "− big" (only in the first), "+ very".

    Args:
        places: Rows or columns.
    """

    def name(place: Place) -> DisplayToken:
        if place.second is None and place.first is not None:
            return alone("−", "first", first[place.first])
        if place.first is None and place.second is not None:
            return alone("+", "second", second[place.second])
        one, other = first[place.first or 0], second[place.second or 0]
        return after_both(one, other, _word(one) == _word(other))

    def alone(sign: str, side: Side, group: DisplayToken) -> DisplayToken:
        return replace(
            group, label=f"{sign} {isolated(group.label)}", title=f"only in the {side}: {group.title}"
        )

    return tuple(map(name, places))


def after_both(one: DisplayToken, other: DisplayToken, same: bool) -> DisplayToken:
    """Return the label of a place in both texts, with both words if they differ."""
    label = one.label if same else in_order(one.label, " → ", other.label)
    title = one.title if one.title == other.title else in_order(one.title, " → ", other.title)
    return DisplayToken(label, title, one.special and other.special, one.number, one.positions)


def place_by_place(first: DisplayTokens, second: DisplayTokens) -> DisplayTokens:
    """Return the tokens of two texts with the same number of them, named after both where they differ.

    Raises:
        AttnvizError: other tokens are merged or hidden in one text than in the other.
    """
    if [group.positions for group in first.groups] != [group.positions for group in second.groups]:
        raise AttnvizError(
            "Other tokens are merged or hidden in one text than in the other. Subtract these without words= "
            "and hide_special=."
        )
    both = [
        after_both(one, other, one.label == other.label)
        for one, other in zip(first.groups, second.groups, strict=True)
    ]
    found = copy(second)
    object.__setattr__(found, "groups", tuple(both))
    return found


def on_places(weights: Floats, queries: Sequence[int | None], keys: Sequence[int | None]) -> Floats:
    """Return one text's weights in the aligned rows and columns; NaN where it has no such word.

    Args:
        weights: [..., query, key].
        queries, keys: Index of this text's word for each row and column, from 0; None if it has none.

    Returns:
        float32 [..., row, column].
    """
    placed = np.full((*weights.shape[:-2], len(queries), len(keys)), np.nan, dtype=np.float32)
    (rows, of_queries), (columns, of_keys) = _present(queries), _present(keys)
    placed[..., rows[:, None], columns] = weights[..., of_queries[:, None], of_keys]
    return placed


def _present(words: Sequence[int | None]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of places with a word, and the words there."""
    found = [(at, word) for at, word in enumerate(words) if word is not None]
    return np.array([at for at, _ in found], np.intp), np.array([word for _, word in found], np.intp)


def _common(first: list[Word], second: list[Word]) -> list[tuple[int, int]]:
    """Return the longest common subsequence that keeps the most neighbours, as pairs of indices."""
    if second < first:  # a fixed order, so that swapping the texts only swaps the sides
        return [(one, other) for other, one in _common(second, first)]
    n, m = len(first), len(second)
    worth = min(n, m) + 1  # one more pair counts more than all neighbours together
    best = [[0] * (m + 1) for _ in range(n + 1)]  # the best score from i and j on
    taken = [[-2] * (m + 1) for _ in range(n + 1)]  # the same if i and j are a pair
    for i in reversed(range(n)):
        for j in reversed(range(m)):
            if first[i] == second[j]:
                taken[i][j] = worth + max(best[i + 1][j + 1], taken[i + 1][j + 1] + 1)
            best[i][j] = max(taken[i][j], best[i + 1][j], best[i][j + 1])
    pairs, i, j, inside = [], 0, 0, False
    while i < n and j < m:
        # Directly after a pair, another pair keeps two neighbours together.
        if taken[i][j] + inside >= best[i][j]:
            pairs.append((i, j))
            i, j, inside = i + 1, j + 1, True
        else:
            i, j = (i + 1, j) if best[i + 1][j] == best[i][j] else (i, j + 1)
            inside = False
    return pairs


def _word(group: DisplayToken) -> Word:
    return group.special, group.label.strip(SPACES).strip().casefold()


def _sort_of(word: Word) -> tuple[bool, bool]:
    """Return whether a word is a special token, and whether it is punctuation; only equal kinds match."""
    special, spelled = word
    return special, all(unicodedata.category(sign).startswith("P") for sign in spelled)


def _is_word(group: DisplayToken) -> bool:
    return _sort_of(_word(group)) == (False, False)
