"""Small random traces; their numbers of layers, heads and dimensions are distinct primes."""

import numpy as np

from attnviz.trace import Block, Kind, Mask, Token, Trace
from tests.formula import computed_block

LAYERS, HEADS, D_HEAD = 2, 3, 5
TEXT = "the dog saw the cat"  # seven tokens with [CLS] and [SEP]
TARGET = "le chien vit"  # four tokens with [START]


def tokens(
    text: str, *, before: str | None = None, after: str | None = None, sentence: int = 0
) -> tuple[Token, ...]:
    """Return a token for each word, in lower case, between the special tokens `before` and `after`."""
    found = [Token(before, 1, 0, 0, None, True, sentence)] if before else []
    start = 0
    for number, word in enumerate(text.split(" ")):
        found.append(Token(word.lower(), 10 + number, start, start + len(word), number, False, sentence))
        start += len(word) + 1
    return (*found, *([Token(after, 2, 0, 0, None, True, sentence)] if after else []))


def block(
    kind: Kind,
    layer: int,
    queries: tuple[Token, ...],
    keys: tuple[Token, ...],
    *,
    heads: int = HEADS,
    sharpness: float = 2.0,
    sink: float = 0.0,
    mask: Mask | None = None,
) -> Block:
    """Return a block with random queries and keys; the larger `sharpness`, the more unequal the weights.

    With a `sink`, the scores of special tokens grow from row to row, to about `sink` in the last row.
    """
    random = np.random.default_rng([layer, len(queries), len(keys), heads])

    def normal(count: int) -> np.ndarray[tuple[int, int, int], np.dtype[np.float32]]:
        return random.standard_normal((heads, count, D_HEAD)).astype(np.float32)

    query, key = sharpness * normal(len(queries)), normal(len(keys))
    if sink:
        query[..., 0] = sink * D_HEAD**0.5 * np.linspace(0, 1, len(queries)) ** 3
        key[..., 0] = [token.special for token in keys]
    unmasked = np.ones((len(queries), len(keys)), np.bool_)
    return computed_block(
        kind=kind,
        layer=layer,
        query_tokens=queries,
        key_tokens=keys,
        query=query,
        key=key,
        value=normal(len(keys)),
        mask=unmasked if mask is None else mask,
        scale=D_HEAD**-0.5,
    )


def encoder(
    text: str = TEXT, *, layers: int = LAYERS, heads: int = HEADS, sink: float = 0.0, model: str = "made"
) -> Trace:
    """Return a trace of an encoder such as BERT."""
    found = tokens(text, before="[CLS]", after="[SEP]")
    blocks = [block("encoder", layer, found, found, heads=heads, sink=sink) for layer in range(layers)]
    return Trace(model=model, text=text, blocks=tuple(blocks))


def translator() -> Trace:
    """Return a trace of a translator, with three kinds of attention; decoder self-attention is causal."""
    source, target = tokens(TEXT, before="[CLS]", after="[SEP]"), tokens(TARGET, before="[START]")
    causal = np.tri(len(target), dtype=np.bool_)
    blocks = [
        kind
        for layer in range(LAYERS)
        for kind in (
            block("encoder", layer, source, source),
            block("decoder", layer, target, target, mask=causal),
            block("cross", layer, target, source),
        )
    ]
    return Trace(model="made", text=TEXT, target=TARGET, blocks=tuple(blocks), written=2)
