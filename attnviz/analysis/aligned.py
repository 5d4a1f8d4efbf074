"""Alignment of the words of two texts: equal, replaced, or only in one text."""

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
from attnviz.text import in_order, isolated, plural
from attnviz.trace import Floats

Side = Literal["first", "second"]

Word = tuple[bool, str]
"""Whether a word is a special token, and its spelling in lower case."""


@dataclass(frozen=True, slots=True)
class Place:
    """One row or column of the aligned grid.

    Attributes:
        first, second: Index of the word in each text; None if the text has no word here.
        same: True if both texts have the same word here.
    """

    first: int | None
    second: int | None
    same: bool

    @property
    def shared(self) -> bool:
        """True if both texts have a word here, equal or not."""
        return self.first is not None and self.second is not None

    def index(self, side: Side) -> int | None:
        """Return the index of one text's word here; None if the text has no word here."""
        return self.first if side == "first" else self.second


@dataclass(frozen=True, eq=False)
class Grid:
    """The aligned rows and columns of two texts.

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
        """The labels of the shared rows."""
        return tuple(self.queries[at] for at in self.shared)

    def place(self, numbers: Floats, side: Side) -> Floats:
        """Return one text's numbers, [..., query, key], on the grid; NaN where the text has no word."""
        return place_weights(
            numbers, [place.index(side) for place in self.rows], [place.index(side) for place in self.columns]
        )

    def place_rows(self, numbers: Floats, side: Side) -> Floats:
        """Return one text's numbers per query, [..., query], on the grid; NaN where the text has no word."""
        return place_weights(numbers[..., None], [place.index(side) for place in self.rows], [0])[..., 0]


def align(first: Sequence[Word], second: Sequence[Word]) -> tuple[Place, ...]:
    """Align the words of two texts, in order, by the blocks of equal words that `difflib` finds.

    Between two blocks, different words are matched one by one if both texts have the same number of them and
    both words of each pair are of one kind: special tokens, punctuation or other words.

    Returns:
        Places; every word of both texts is in exactly one of them.
    """
    places: list[Place] = []
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    for change, start, end, other_start, other_end in blocks:
        pairs = list(zip(range(start, end), range(other_start, other_end), strict=False))
        same_categories = all(_category(first[one]) == _category(second[other]) for one, other in pairs)
        if end - start == other_end - other_start and same_categories:
            places += [Place(one, other, same=change == "equal") for one, other in pairs]
        else:
            places += [Place(one, None, same=False) for one in range(start, end)]
            places += [Place(None, other, same=False) for other in range(other_start, other_end)]
    return tuple(places)


def aligned_sentences(first: DisplayTokens, second: DisplayTokens) -> tuple[Place, ...]:
    """Align two texts of one model, ignoring case.

    Raises:
        AttnvizError: fewer than half of the shorter text's words are the same in both, not counting
            punctuation and special tokens.
    """
    places = align([_word(group) for group in first.groups], [_word(group) for group in second.groups])
    same = sum(place.same and _is_word(first.groups[place.first or 0]) for place in places)
    shorter = min(sum(map(_is_word, text.groups)) for text in (first, second))
    if not same or 2 * same < shorter:
        raise AttnvizError(
            f"The texts are too different to compare: {same} of the shorter text’s "
            f"{plural(shorter, 'token')} are in both, in the same order; at least half are required. "
            "Change fewer words."
        )
    return places


def grid(
    first: Sequence[DisplayTokens],
    second: Sequence[DisplayTokens],
) -> Grid:
    """Align the rows and columns of two texts.

    Args:
        first, second: Queries and keys of each text, as displayed; a single item for both in self-attention.
    """
    sides = [
        (places := aligned_sentences(one, other), place_labels(places, one.groups, other.groups))
        for one, other in zip(first, second, strict=True)
    ]
    (rows, queries), (columns, keys) = sides[0], sides[-1]
    return Grid(rows, columns, queries, keys)


def place_labels(
    places: Sequence[Place],
    first: Sequence[DisplayToken],
    second: Sequence[DisplayToken],
) -> tuple[DisplayToken, ...]:
    """Return the label of each place: "dog", "tired → narrow", "− big" (only in the first), "+ very".

    Args:
        places: Rows or columns.
    """

    def label(place: Place) -> DisplayToken:
        if place.second is None and place.first is not None:
            return unmatched("−", "first", first[place.first])
        if place.first is None and place.second is not None:
            return unmatched("+", "second", second[place.second])
        one, other = first[place.first or 0], second[place.second or 0]
        return _combined(one, other, _word(one) == _word(other))

    def unmatched(sign: str, side: Side, group: DisplayToken) -> DisplayToken:
        return replace(
            group, label=f"{sign} {isolated(group.label)}", title=f"only in the {side} text: {group.title}"
        )

    return tuple(map(label, places))


def _combined(one: DisplayToken, other: DisplayToken, same: bool) -> DisplayToken:
    """Return the label of a place that both texts have, with both words if they differ."""
    label = one.label if same else in_order(one.label, " → ", other.label)
    title = one.title if one.title == other.title else in_order(one.title, " → ", other.title)
    return DisplayToken(label, title, one.special and other.special, one.number, one.positions)


def combined_tokens(first: DisplayTokens, second: DisplayTokens) -> DisplayTokens:
    """Return the tokens of two texts with equally many tokens, labelled with both words where they differ.

    Raises:
        AttnvizError: different tokens are merged or hidden in the two texts.
    """
    if [group.positions for group in first.groups] != [group.positions for group in second.groups]:
        raise AttnvizError(
            "Different tokens are merged or hidden in the two texts. Subtract the traces without words= and "
            "hide_special=."
        )
    groups = [
        _combined(one, other, one.label == other.label)
        for one, other in zip(first.groups, second.groups, strict=True)
    ]
    combined = copy(second)
    object.__setattr__(combined, "groups", tuple(groups))
    return combined


def place_weights(weights: Floats, queries: Sequence[int | None], keys: Sequence[int | None]) -> Floats:
    """Return one text's weights in the aligned rows and columns; NaN where the text has no word.

    Args:
        weights: [..., query, key].
        queries, keys: Index, from 0, of this text's word in each row and column; None for no word.

    Returns:
        float32 [..., row, column].
    """
    placed = np.full((*weights.shape[:-2], len(queries), len(keys)), np.nan, dtype=np.float32)
    (rows, query_words), (columns, key_words) = _present(queries), _present(keys)
    placed[..., rows[:, None], columns] = weights[..., query_words[:, None], key_words]
    return placed


def _present(words: Sequence[int | None]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of the places with a word, and the index of the word in each of them."""
    found = [(at, word) for at, word in enumerate(words) if word is not None]
    return np.array([at for at, _ in found], np.intp), np.array([word for _, word in found], np.intp)


def _word(group: DisplayToken) -> Word:
    return group.special, group.label.strip(SPACES).strip().casefold()


def _category(word: Word) -> tuple[bool, bool]:
    """Return whether a word is a special token, and whether it is punctuation; both must match."""
    special, spelling = word
    return special, all(unicodedata.category(sign).startswith("P") for sign in spelling)


def _is_word(group: DisplayToken) -> bool:
    return _category(_word(group)) == (False, False)
