"""Words in a text: their tokens, the weight between two words, punctuation, and repetitions."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from attnviz.trace import Floats, Mask, Token

_NONE = -1
_MARKS = frozenset("$+<=>^`|~")  # punctuation for BERT, but not for Unicode (Devlin et al. 2019)


class Span(NamedTuple):
    """Characters of a text, `text[start:end]`."""

    start: int
    end: int


def positions(tokens: Sequence[Token], span: Span) -> tuple[int, ...]:
    """Return the positions, from 0, of the tokens of the first sentence that overlap a span."""
    return tuple(
        place
        for place, token in enumerate(tokens)
        if not token.special and token.sentence == 0 and token.start < span.end and token.end > span.start
    )


def weight_between(weights: Floats, queries: Sequence[int], keys: Sequence[int]) -> Floats:
    """Return the weight from one word to another: the sum over key pieces, averaged over query pieces.

    Pieces are merged as in `analysis.display_tokens` (Clark et al. 2019), without hiding or rescaling.

    Args:
        weights: [..., query, key].
        queries, keys: Positions of the pieces of the query word and of the key word.

    Returns:
        float32 [...].
    """
    rows = weights[..., list(queries), :][..., list(keys)]
    return np.asarray(rows.sum(axis=-1).mean(axis=-1), dtype=np.float32)


def punctuation(tokens: Sequence[Token], texts: Sequence[str]) -> Mask:
    """Return [token], True for punctuation; False for special tokens.

    Characters of Unicode's categories P… and $ + < = > ^ ` | ~ are punctuation.

    Args:
        texts: The texts, by `token.sentence`.
    """
    found = [
        not token.special and _is_punctuation(texts[token.sentence][token.start : token.end])
        for token in tokens
    ]
    return np.array(found, dtype=np.bool_)


def same_word(tokens: Sequence[Token], texts: Sequence[str]) -> Mask:
    """Return [token, token], True where two tokens belong to different words with the same spelling.

    Case is ignored: “The” equals “the”. Pieces of one word are not different words, and punctuation is not a
    word.

    Args:
        texts: The texts, by `token.sentence`.
    """
    numbers = [_NONE if token.word is None or token.special else token.word for token in tokens]
    spans = _spans(tokens)
    known: dict[str, int] = {}
    # Words with the same spelling have the same number; other tokens have none.
    spellings = {_NONE: _NONE}
    for number, (sentence, start, end) in spans.items():
        typed = texts[sentence][start:end]
        is_word = typed.strip() and not _is_punctuation(typed)
        spellings[number] = known.setdefault(typed.strip().casefold(), len(known)) if is_word else _NONE
    words, spelled = np.array(numbers), np.array([spellings[number] for number in numbers])
    same = (spelled[:, None] == spelled) & (words[:, None] != words) & (spelled != _NONE)
    return np.asarray(same, dtype=np.bool_)


@lru_cache(1 << 14)  # a corpus repeats the same few thousand strings
def _is_punctuation(typed: str) -> bool:
    letters = typed.strip()
    return bool(letters) and all(
        letter in _MARKS or unicodedata.category(letter).startswith("P") for letter in letters
    )


def _spans(tokens: Sequence[Token]) -> dict[int, tuple[int, int, int]]:
    """Return each word's sentence, start and end, by word number."""
    spans: dict[int, tuple[int, int, int]] = {}
    for token in tokens:
        if token.word is not None and not token.special:
            sentence, start, _ = spans.get(token.word, (token.sentence, token.start, 0))
            spans[token.word] = sentence, start, token.end
    return spans
