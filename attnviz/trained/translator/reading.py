"""Tokenization of text for the translator."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from attnviz.trace import Token
from attnviz.trained.known_words import Piece, known_words, pieces
from attnviz.trained.translator.grammar import parses
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END, START, Vocabulary

TOKEN_LIMIT = 40
"""Maximum number of tokens, including [END] or [START]; no sentence of the grammar has more."""


def tokens(text: str) -> tuple[Token, ...]:
    """Return the English words of a text, and [END].

    Case and punctuation are ignored; "didn't" becomes "did not".

    Raises:
        EmptyText: there are no words.
        UnreadableText: the text contains an unpaired surrogate.
        TextTooLong: there are more than `TOKEN_LIMIT` tokens, or more than `MAX_CHARACTERS`.
        UnknownWords: some words are not in the vocabulary; the error lists all of them.
    """
    return (*_known(text, ENGLISH, _english), Token(END, ENGLISH.ids([END])[0], 0, 0, None, special=True))


def french(text: str) -> tuple[Token, ...]:
    """Return [START] and the French words of a text; "n'a" becomes "n'" and "a".

    Raises:
        EmptyText, UnreadableText, TextTooLong, UnknownWords: as for `tokens`.
    """
    return (Token(START, FRENCH.ids([START])[0], 0, 0, None, special=True), *_known(text, FRENCH, _french))


def is_outside_grammar(words: Sequence[str]) -> bool:
    """Return whether the grammar cannot generate these words, so the training set has no similar sentence.

    Args:
        words: English words of the vocabulary.
    """
    return next(parses(words), None) is None


def _known(text: str, vocabulary: Vocabulary, parts: Callable[[Piece], Iterator[Piece]]) -> list[Token]:
    """Return the words of a text as tokens, in the vocabulary's spelling."""
    return known_words(
        text, lambda text: chain.from_iterable(map(parts, _pieces(text))), vocabulary, TOKEN_LIMIT
    )


def _pieces(text: str) -> Iterator[Piece]:
    """Return the words between spaces and punctuation."""
    return pieces(r"[^\s']\S*", "".join(map(_plain, text)))


def _plain(character: str) -> str:
    """Normalize apostrophes, and replace punctuation with a space."""
    if character in "'’‘ʼ`":
        return "'"
    return " " if unicodedata.category(character)[0] in "PC" else character


def _english(piece: Piece) -> Iterator[Piece]:
    """Split "didn't" into "did" and "not"; remove trailing apostrophes, which are quotation marks."""
    word, start, end = piece
    if word[-3:].lower() == "n't" and word[:-3].lower() in ENGLISH:
        yield Piece(word[:-3], start, end - 3)
        yield Piece("not", end - 3, end)
    else:
        closed = word.rstrip("'")
        yield Piece(closed, start, start + len(closed))


def _french(piece: Piece) -> Iterator[Piece]:
    """Split "puisqu'il" into "puisqu'" and "il", but not "aujourd'hui"."""
    for match in re.finditer(r"aujourd'hui|[^']+'?", piece.word, re.IGNORECASE):
        part = match[0] if match[0].lower() in FRENCH else match[0].rstrip("'")
        start = piece.start + match.start()
        yield Piece(part, start, start + len(part))
