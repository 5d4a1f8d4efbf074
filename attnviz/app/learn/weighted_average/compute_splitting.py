"""Three ways to split a text into tokens: characters, words, and the word pieces that BERT reads."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from tokenizers import Tokenizer

from attnviz.app.learn import compute
from attnviz.models import catalogue

CHARACTERS, WORDS, WORD_PIECES = "Characters", "Words", "Word pieces"


@dataclass(frozen=True, slots=True)
class Piece:
    """One token.

    Attributes:
        text: how the tokenizer writes it.
        id: its place in the vocabulary, from 0.
        start, end: the characters of the text it stands for, `source[start:end]`; 0, 0 if it was added.
    """

    text: str
    id: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Split:
    """A text in tokens.

    Attributes:
        pieces: the tokens, in order.
        vocabulary: how many different tokens there can be.
        back: the text that the ids alone give back.
    """

    pieces: tuple[Piece, ...]
    vocabulary: int
    back: str


def split(kind: str, text: str) -> Split:
    """The text split in one of the three ways.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the model cannot read the text (word pieces only).
        KeyError: there is no such way.
    """
    return {CHARACTERS: characters, WORDS: words, WORD_PIECES: word_pieces}[kind](text)


def characters(text: str) -> Split:
    """Every character is a token; ids are places in the text's own alphabet, sorted."""
    return _with_own_vocabulary(list(text))


def words(text: str) -> Split:
    """Words, spaces, and every other sign by itself; ids are places in the text's own vocabulary, sorted.

    A word is a run of letters, digits and the marks on them. Since spaces are tokens too, no character is
    lost.
    """
    return _with_own_vocabulary([run for kind, group in groupby(text, _kind) for run in _runs(kind, group)])


def word_pieces(text: str) -> Split:
    """What the bundled BERT reads; ids are its own. A piece inside a word begins with ##.

    Its vocabulary has no capitals, accents or spaces, so the ids do not give those back.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the model cannot read the text.
    """
    pieces = tuple(Piece(token.text, token.id, token.start, token.end) for token in compute.tokens(text))
    tokenizer = _tokenizer()
    back = tokenizer.decode([piece.id for piece in pieces], skip_special_tokens=True)
    return Split(pieces=pieces, vocabulary=tokenizer.get_vocab_size(), back=back)


def _with_own_vocabulary(tokens: Sequence[str]) -> Split:
    vocabulary = sorted(set(tokens))
    ids = {token: number for number, token in enumerate(vocabulary)}
    pieces, start = [], 0
    for token in tokens:
        pieces.append(Piece(token, ids[token], start, start + len(token)))
        start += len(token)
    back = "".join(vocabulary[piece.id] for piece in pieces)
    return Split(pieces=tuple(pieces), vocabulary=len(vocabulary), back=back)


def _kind(character: str) -> str:
    if character.isspace():
        return "space"
    return "word" if unicodedata.category(character)[0] in "LMN" else "sign"


def _runs(kind: str, characters: Iterable[str]) -> list[str]:
    return list(characters) if kind == "sign" else ["".join(characters)]


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(catalogue.MINILM.folder / "tokenizer.json"))
