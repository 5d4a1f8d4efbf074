"""Align the words of two texts: same, replaced, only in one."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
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


def align(first: Sequence[Word], second: Sequence[Word]) -> tuple[Place, ...]:
    """Align two texts by the blocks of equal words that `difflib` finds, each text in its own order.

    Between two blocks, different words are matched one by one if both texts have the same number of them, and
    if no word would be matched with punctuation or a special token.

    Returns:
        Every word of either text exactly once.
    """
    places: list[Place] = []
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    for change, i, to_i, j, to_j in blocks:
        both = list(zip(range(i, to_i), range(j, to_j), strict=False))
        of_a_kind = all(_sort_of(first[one]) == _sort_of(second[other]) for one, other in both)
        if to_i - i == to_j - j and of_a_kind:
            places += [Place(one, other, same=change == "equal") for one, other in both]
        else:
            places += [Place(one, None, same=False) for one in range(i, to_i)]
            places += [Place(None, other, same=False) for other in range(j, to_j)]
    return tuple(places)


def aligned_sentences(first: DisplayTokens, second: DisplayTokens) -> tuple[Place, ...]:
    """Align two texts that one model reads, ignoring case.

    Raises:
        AttnvizError: fewer than half of the shorter text's words are the same in both, without punctuation
            and special tokens.
    """
    places = align([_word(group) for group in first.groups], [_word(group) for group in second.groups])
    same = sum(place.same and _is_word(first.groups[place.first or 0]) for place in places)
    shorter = min(sum(map(_is_word, text.groups)) for text in (first, second))
    if not same or 2 * same < shorter:
        raise AttnvizError(
            f"Of the {shorter} words of the shorter text, only {same} are in the other in the same order; at "
            "least half must be. Compare texts that share most of their words."
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


def _word(group: DisplayToken) -> Word:
    return group.special, group.label.strip(SPACES).strip().casefold()


def _sort_of(word: Word) -> tuple[bool, bool]:
    """Return whether a word is a special token, and whether it is punctuation; only equal kinds match."""
    special, spelled = word
    return special, all(unicodedata.category(sign).startswith("P") for sign in spelled)


def _is_word(group: DisplayToken) -> bool:
    return _sort_of(_word(group)) == (False, False)
