"""Convert text to the storyteller's tokens, and generated words to text."""

import unicodedata
from collections.abc import Iterator, Sequence
from random import Random

from attnviz.trace import Token
from attnviz.trained.known_words import Piece, known_words, pieces
from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.grammar import TOKEN_LIMIT, VOCABULARY
from attnviz.trained.vocabulary import START

_SIGNS = ".,:?"  # punctuation in stories; other punctuation is ignored


def tokens(text: str) -> tuple[Token, ...]:
    """Return [START] and the words and punctuation of a text, ignoring case.

    Raises:
        EmptyText, UnreadableText, TextTooLong, UnknownWords: as for `known_words`.
    """
    start = Token(START, VOCABULARY.ids([START])[0], 0, 0, None, special=True)
    return (start, *known_words(text, _pieces, VOCABULARY, TOKEN_LIMIT))


def append_words(text: str, read: Sequence[Token], ids: Sequence[int]) -> tuple[str, tuple[Token, ...]]:
    """Append words to a text; return the new text and its tokens.

    Args:
        text: The text.
        read: The tokens of the text.
        ids: Ids of the words to append.
    """
    tokens = list(read)
    for number in ids:
        word = VOCABULARY.word(number)
        text = f"{text.rstrip()}{'' if word in _SIGNS else ' '}{word}"
        place = sum(not token.special for token in tokens)
        tokens.append(Token(word, number, len(text) - len(word), len(text), place, special=False))
    return text, tuple(tokens)


def beginning(rng: Random) -> str:
    """Return the beginning of a random story."""
    text, _ = append_words("", (), VOCABULARY.ids(grammar.beginning(rng)))
    return text.strip()


def _pieces(text: str) -> Iterator[Piece]:
    return pieces(rf"[{_SIGNS}]|[^\s{_SIGNS}]+", "".join(map(_plain, text)))


def _plain(character: str) -> str:
    """Replace ignored punctuation with a space."""
    return " " if character not in _SIGNS and unicodedata.category(character)[0] in "PC" else character
