"""Traces of one sentence with given weights."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from attnviz.trace import Block, Floats, Kind, Mask, Token, Trace


def tokens_of(text: str) -> tuple[Token, ...]:
    """Return [CLS], words, punctuation and [SEP]; words of more than five letters have two pieces."""
    found = [Token("[CLS]", 0, 0, 0, None, special=True)]
    for word, match in enumerate(re.finditer(r"\w+|[^\w\s]", text)):
        start, end = match.span()
        cuts = [start, start + 5, end] if end - start > 5 else [start, end]
        for piece, (begin, stop) in enumerate(pairwise(cuts)):
            piece_text = ("##" if piece else "") + text[begin:stop]
            found.append(Token(piece_text, len(found), begin, stop, word, special=False))
    return (*found, Token("[SEP]", len(found), 0, 0, None, special=True))


def trace_of(text: str, layers: Sequence[Floats], kind: Kind = "encoder", mask: Mask | None = None) -> Trace:
    """Return a trace with these weights: one array per layer, [head, query, key]."""
    tokens = tokens_of(text)
    blocks = []
    for layer, weights in enumerate(layers):
        zeros = np.zeros((len(weights), len(tokens), 2), dtype=np.float32)
        blocks.append(
            Block(
                kind=kind,
                layer=layer,
                query_tokens=tokens,
                key_tokens=tokens,
                query=zeros,
                key=zeros,
                value=zeros,
                weights=weights,
                mask=np.ones((len(tokens), len(tokens)), dtype=np.bool_) if mask is None else mask,
                scale=1.0,
            )
        )
    return Trace(model="by hand", text=text, blocks=tuple(blocks))
