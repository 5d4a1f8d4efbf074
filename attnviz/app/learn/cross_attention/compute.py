"""How does one sequence read another? The tokens of one text look at those of a second one."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from attnviz.app.learn import compute
from attnviz.capture.arrays import owned
from attnviz.trace import Block
from attnviz.transformer.attention import AttentionSteps, scaled_dot_product_attention


def cross(reader: str, source: str, layer: int) -> Block:
    """The tokens of one text read those of another, each by its vector in the bundled BERT, as one head.

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
    readers, sources = compute.tokens(reader), compute.tokens(source)
    return Block(
        kind="cross",
        layer=layer,
        query_tokens=readers,
        key_tokens=sources,
        query=owned(asking[None]),
        key=owned(offered[None]),
        value=owned(offered[None]),
        weights=owned(read(asking, offered).weights[None]),
        mask=np.ones((len(readers), len(sources)), dtype=np.bool_),
        scale=asking.shape[-1] ** -0.5,
    )


def read(reader: Tensor, source: Tensor) -> AttentionSteps:
    """Cross-attention without parameters: queries from `reader`, keys and values from `source`.

    Both are [token, d_model]; the scores and weights are [reader, source], the output [reader, d_model].
    """
    return scaled_dot_product_attention(query=reader, key=source, value=source)
