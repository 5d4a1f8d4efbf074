"""Words in a text: their tokens, the weight between two of them, punctuation, and repetitions."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from attnviz.trace import Floats, Mask, Token

_NONE = -1
_MARKS = frozenset("$+<=>^`|~")  # what BERT counts as punctuation besides Unicode's (Devlin et al. 2019)


class Span(NamedTuple):
    """Characters of a text, `text[start:end]`."""

    start: int
    end: int


def positions(tokens: Sequence[Token], span: Span) -> tuple[int, ...]:
    """The tokens, from 0, that cover some of these characters; of a pair, in the first sentence."""
    return tuple(
        place
        for place, token in enumerate(tokens)
        if not token.special and token.sentence == 0 and token.start < span.end and token.end > span.start
    )


def weight_between(weights: Floats, queries: Sequence[int], keys: Sequence[int]) -> Floats:
    """How much one word attends to another: the sum over the other's pieces, the mean over its own.

    As `analysis.display_tokens` merges pieces (Clark et al. 2019); nothing is hidden, nothing rescaled.

    Args:
        weights: [..., query, key].
        queries, keys: the pieces of the query word and of the key word.

    Returns:
        float32 [...].
    """
    rows = weights[..., list(queries), :][..., list(keys)]
    return np.asarray(rows.sum(axis=-1).mean(axis=-1), dtype=np.float32)


def punctuation(tokens: Sequence[Token], texts: Sequence[str]) -> Mask:
    """For each [token], True where it is punctuation alone; never for a special token.

    Punctuation is what Unicode calls so (categories P…), and $ + < = > ^ ` | ~.

    Args:
        texts: their texts, by `token.sentence`.
    """
    found = [
        not token.special and _is_punctuation(texts[token.sentence][token.start : token.end])
        for token in tokens
    ]
    return np.array(found, dtype=np.bool_)


def same_word(tokens: Sequence[Token], texts: Sequence[str]) -> Mask:
    """For each [token, token], True where two tokens belong to two words that are spelled alike.

    Capitals do not count: “The” and “the” are alike. The pieces of one word are one word, not two, and
    punctuation is no word.

    Args:
        texts: their texts, by `token.sentence`.
    """
    words = [_NONE if token.word is None or token.special else token.word for token in tokens]
    spans = _spans(tokens)
    known: dict[str, int] = {}
    # Words that are spelled alike get one number; what is no word gets none.
    alike = {_NONE: _NONE}
    for number, (sentence, start, end) in spans.items():
        typed = texts[sentence][start:end]
        is_word = typed.strip() and not _is_punctuation(typed)
        alike[number] = known.setdefault(typed.strip().casefold(), len(known)) if is_word else _NONE
    one, spelled = np.array(words), np.array([alike[number] for number in words])
    same = (spelled[:, None] == spelled) & (one[:, None] != one) & (spelled != _NONE)
    return np.asarray(same, dtype=np.bool_)


@lru_cache(1 << 14)  # in a text of many sentences the same few thousand come again and again
def _is_punctuation(typed: str) -> bool:
    letters = typed.strip()
    return bool(letters) and all(
        letter in _MARKS or unicodedata.category(letter).startswith("P") for letter in letters
    )


def _spans(tokens: Sequence[Token]) -> dict[int, tuple[int, int, int]]:
    """Of each word, by its number: its sentence, and where it begins and ends there."""
    spans: dict[int, tuple[int, int, int]] = {}
    for token in tokens:
        if token.word is not None and not token.special:
            sentence, start, _ = spans.get(token.word, (token.sentence, token.start, 0))
            spans[token.word] = sentence, start, token.end
    return spans
