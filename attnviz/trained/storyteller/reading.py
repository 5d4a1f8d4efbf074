"""Turn typed text into the storyteller's words, and its words into text."""

import unicodedata
from collections.abc import Iterator, Sequence
from random import Random

from attnviz.trace import Token
from attnviz.trained.known_words import Piece, known_words, pieces
from attnviz.trained.storyteller.grammar import TOKEN_LIMIT, VOCABULARY
from attnviz.trained.storyteller.tasks import ANSWERED
from attnviz.trained.vocabulary import START

_SIGNS = ".,:?"  # punctuation that stories have; none other is read


def tokens(text: str) -> tuple[Token, ...]:
    """[START], and the words and signs of a text; capital letters make no difference.

    Raises:
        EmptyText, UnreadableText, TextTooLong, UnknownWords: as `known_words`.
    """
    start = Token(START, VOCABULARY.ids([START])[0], 0, 0, None, special=True)
    return (start, *known_words(text, _pieces, VOCABULARY, TOKEN_LIMIT))


def written(text: str, read: Sequence[Token], ids: Sequence[int]) -> tuple[str, tuple[Token, ...]]:
    """A text with more words behind it, and the tokens of both.

    Args:
        text: what was typed.
        read: its tokens.
        ids: the words to put behind it.
    """
    found = list(read)
    for number in ids:
        word = VOCABULARY.word(number)
        text = f"{text.rstrip()}{'' if word in _SIGNS else ' '}{word}"
        place = sum(not token.special for token in found)
        found.append(Token(word, number, len(text) - len(word), len(text), place, special=False))
    return text, tuple(found)


def beginning(dice: Random) -> str:
    """Return a story that breaks off as in one of the tasks that every storyteller has learned."""
    item = dice.choice(list(ANSWERED.values()))(dice)
    text, _ = written("", (), VOCABULARY.ids(item.words[1:]))
    return text.strip()


def _pieces(text: str) -> Iterator[Piece]:
    return pieces(rf"[{_SIGNS}]|[^\s{_SIGNS}]+", "".join(map(_plain, text)))


def _plain(character: str) -> str:
    """A space for punctuation that is not read."""
    return " " if character not in _SIGNS and unicodedata.category(character)[0] in "PC" else character
