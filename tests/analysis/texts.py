"""Small tokenized texts, and attention blocks for them."""

import numpy as np

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.trace import Block, Floats, Kind, Token
from tests.formula import computed_block

CLS, SEP = Token("[CLS]", 101, 0, 0, None, True), Token("[SEP]", 102, 0, 0, None, True)

UNBREAKABLE = "Unbreakable dog 🦄"
PIECES = (
    CLS,
    Token("un", 7, 0, 2, 0, False),
    Token("##break", 11, 2, 7, 0, False),
    Token("##able", 13, 7, 11, 0, False),
    Token("dog", 17, 12, 15, 1, False),
    Token("[UNK]", 100, 16, 17, 2, False),
    SEP,
)
"""A word of three pieces, a plain word, and an unknown one."""


def pieces(*, hide_special: bool = False, merge_words: bool = False) -> DisplayTokens:
    return DisplayTokens(PIECES, UNBREAKABLE, hide_special, merge_words)


def words(text: str, special: bool = False) -> tuple[Token, ...]:
    """Return each word of the text as a token; `special` adds [CLS] and [SEP]."""
    found, end = [], 0
    for number, word in enumerate(text.split()):
        start = text.index(word, end)
        end = start + len(word)
        found.append(Token(word, number, start, end, number, False))
    return (CLS, *found, SEP) if special else tuple(found)


def shown(text: str) -> DisplayTokens:
    return DisplayTokens(words(text), text)


def make_block(
    tokens: tuple[Token, ...],
    bias: bool = False,
    causal: bool = False,
    scale: float = 0.37,
    cap: float | None = None,
    sinks: tuple[float, ...] | None = None,
) -> Block:
    """Return a random block of 3 heads of size 5 for these tokens."""
    random = np.random.default_rng(2017)
    size = len(tokens)

    def draw(*shape: int) -> Floats:
        return random.standard_normal(shape, dtype=np.float32)

    return computed_block(
        kind="encoder",
        layer=0,
        query_tokens=tokens,
        key_tokens=tokens,
        query=2 * draw(3, size, 5),
        key=2 * draw(3, size, 5),
        value=draw(3, size, 5),
        mask=np.tri(size, dtype=bool) if causal else np.ones((size, size), dtype=bool),
        scale=scale,
        bias=draw(3, size, size) if bias else None,
        cap=cap,
        sinks=None if sinks is None else np.array(sinks, np.float32),
    )


def block_with_weights(kind: Kind, layer: int, weights: Floats, special: tuple[int, ...] = ()) -> Block:
    """Return a block with these weights; its queries and keys are zeros."""
    heads, queries, keys = weights.shape

    def tokens(count: int) -> tuple[Token, ...]:
        return tuple(Token(f"t{n}", n, n, n + 1, n, n in special) for n in range(count))

    return Block(
        kind=kind,
        layer=layer,
        query_tokens=tokens(queries),
        key_tokens=tokens(keys),
        query=np.zeros((heads, queries, 1), np.float32),
        key=np.zeros((heads, keys, 1), np.float32),
        value=np.ones((heads, keys, 1), np.float32),
        weights=weights,
        mask=np.ones((queries, keys), np.bool_),
        scale=1.0,
    )
