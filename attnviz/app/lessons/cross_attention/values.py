"""Cross-attention: the tokens of one text attend to the tokens of another text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from attnviz.app.lessons import compute
from attnviz.capture.arrays import owned
from attnviz.trace import Block
from attnviz.transformer.attention import AttentionSteps, scaled_dot_product_attention


def cross(reader: str, source: str) -> Block:
    """Return cross-attention between the vectors of two texts after the last layer of the bundled BERT.

    BERT reads each text by itself; queries, keys and values are its output vectors, without projections.

    Args:
        reader: Text of the queries.
        source: Text of the keys and values.

    Raises:
        EmptyText, TextTooLong, UnreadableText: a text is invalid.
    """
    states = compute.run(reader).hidden_states
    query, key = states[-1], compute.run(source).hidden_states[-1]
    readers, sources = compute.tokens(reader), compute.tokens(source)
    return Block(
        kind="cross",
        layer=len(states) - 1,
        query_tokens=readers,
        key_tokens=sources,
        query=owned(query[None]),
        key=owned(key[None]),
        value=owned(key[None]),
        weights=owned(attend(query, key).weights[None]),
        mask=np.ones((len(readers), len(sources)), dtype=np.bool_),
        scale=query.shape[-1] ** -0.5,
    )


def attend(reader: Tensor, source: Tensor) -> AttentionSteps:
    """Return cross-attention without parameters: queries from `reader`, keys and values from `source`.

    Both are [token, d_model]; the scores and weights are [reader, source], the output [reader, d_model].
    """
    return scaled_dot_product_attention(query=reader, key=source, value=source)


@dataclass(frozen=True)
class KeyToken:
    """A key token, with its weight from one query.

    Attributes:
        place: Position, from 0.
        weight: Weight in the query's row.
        dot_product: q · k, the product of both lengths and the cosine.
        length: Euclidean norm of the key.
        cosine: Cosine of query and key.
    """

    place: int
    weight: float
    dot_product: float
    length: float
    cosine: float


def keys_by_weight(block: Block, query: int) -> list[KeyToken]:
    """Return all key tokens, by decreasing weight from one query."""
    vector = block.query[0, query]
    found = []
    for place in np.argsort(-block.weights[0, query], kind="stable"):
        key = block.key[0, place]
        dot_product, length = float(vector @ key), float(np.linalg.norm(key))
        found.append(
            KeyToken(
                place=int(place),
                weight=float(block.weights[0, query, place]),
                dot_product=dot_product,
                length=length,
                cosine=dot_product / (length * float(np.linalg.norm(vector))),
            )
        )
    return found
