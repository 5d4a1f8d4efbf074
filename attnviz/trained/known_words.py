"""Tokenization of a text for a model with a vocabulary of complete words."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from attnviz import readable
from attnviz.errors import EmptyText, TextTooLong, UnknownWords
from attnviz.trace import Token
from attnviz.trained.vocabulary import Vocabulary


class Piece(NamedTuple):
    """A typed word and its position in the text."""

    word: str
    start: int
    end: int


def pieces(pattern: str, text: str) -> Iterator[Piece]:
    """Yield a piece for each match of a pattern."""
    return (Piece(match[0], *match.span()) for match in re.finditer(pattern, text))


def known_words(
    text: str, split: Callable[[str], Iterable[Piece]], vocabulary: Vocabulary, limit: int
) -> list[Token]:
    """Return the words of a text as tokens, in the vocabulary's spelling.

    Args:
        text: The text.
        split: Splits a text into words.
        vocabulary: Vocabulary of the model.
        limit: The model's maximum number of tokens: the words and [START] or [END].

    Raises:
        EmptyText: there are no words.
        UnreadableText: the text contains an unpaired surrogate.
        TextTooLong: there are more than `limit` tokens, or more than `readable.MAX_CHARACTERS` characters.
        UnknownWords: some words are not in the vocabulary; the error lists all of them.
    """
    readable.check(text)
    typed = list(split(text))
    if not typed:
        raise EmptyText("The text has no words. Type a sentence and try again.")
    if len(typed) >= limit:
        raise TextTooLong(len(typed) + 1, limit)
    words = [vocabulary.spelling(piece.word) for piece in typed]
    unknown = [piece for piece, word in zip(typed, words, strict=True) if word is None]
    if unknown:
        raise UnknownWords({text[start:end]: vocabulary.nearest(word) for word, start, end in unknown})
    known = [word for word in words if word is not None]
    return [
        Token(word, number, piece.start, piece.end, place, special=False)
        for place, (word, number, piece) in enumerate(zip(known, vocabulary.ids(known), typed, strict=True))
    ]
