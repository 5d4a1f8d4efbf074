"""How does one sequence read another? The tokens of one text look at those of a second one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from attnviz.app.learn import compute
from attnviz.capture.arrays import owned
from attnviz.trace import Block, Floats, Token
from attnviz.transformer.attention import AttentionSteps, scaled_dot_product_attention


@dataclass(frozen=True, eq=False)
class Crossing:
    """One text reading another.

    Attributes:
        readers: the tokens that look: the rows.
        sources: the tokens that are looked at: the columns.
        dot_products, scores, weights: [reader, source]; scores are the dot products ÷ √d_model.
        values: [source, d_model], what there is to read: the sources' vectors, which are also the keys.
        output: [reader, d_model], what each reader has read.
        block: the same as a record, to take single weights apart.
    """

    readers: tuple[Token, ...]
    sources: tuple[Token, ...]
    dot_products: Floats
    scores: Floats
    weights: Floats
    values: Floats
    output: Floats
    block: Block


def cross(reader: str, source: str, layer: int) -> Crossing:
    """The tokens of one text read those of another, each by its vector in the bundled BERT.

    The model sees each text by itself. Nothing here is trained for reading across: queries, keys and values
    are the vectors as they are.

    Args:
        reader: the text whose tokens look.
        source: the text that is looked at; the same as `reader`: self-attention.
        layer: after how many of the model's layers the vectors are taken; 0: before the first.

    Raises:
        EmptyText, TextTooLong, UnreadableText: a text cannot be read as it is.
    """
    asking = compute.run(reader).hidden_states[layer]
    offered = compute.run(source).hidden_states[layer]
    steps = read(asking, offered)
    readers, sources = compute.tokens(reader), compute.tokens(source)
    block = Block(
        kind="cross",
        layer=layer,
        query_tokens=readers,
        key_tokens=sources,
        query=owned(asking[None]),
        key=owned(offered[None]),
        value=owned(offered[None]),
        weights=owned(steps.weights[None]),
        mask=np.ones((len(readers), len(sources)), dtype=np.bool_),
        scale=asking.shape[-1] ** -0.5,
    )
    return Crossing(
        readers,
        sources,
        owned(steps.dot_products),
        owned(steps.scores),
        owned(steps.weights),
        owned(offered),
        owned(steps.output),
        block,
    )


def read(reader: Tensor, source: Tensor) -> AttentionSteps:
    """Cross-attention without parameters: queries from `reader`, keys and values from `source`.

    Both are [token, d_model]; the scores and weights are [reader, source], the output [reader, d_model].
    """
    return scaled_dot_product_attention(query=reader, key=source, value=source)
