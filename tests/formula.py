"""Equation 1 of Vaswani et al. 2017 in numpy: what traces are compared with, and made of, in tests."""

from typing import Any

import numpy as np

from attnviz.trace import Block, Floats, Mask


def attention(
    query: Floats, key: Floats, mask: Mask, scale: float, bias: Floats | None = None
) -> tuple[Floats, Floats]:
    """The scores, and softmax(QKᵀ · scale + bias), exactly 0 where the mask forbids; [head, query, key]."""
    scores = query @ key.transpose(0, 2, 1) * np.float32(scale)
    if bias is not None:
        scores = scores + bias
    allowed = np.where(mask, scores, -np.inf)
    exponentials = np.exp(allowed - allowed.max(axis=-1, keepdims=True))
    return scores, exponentials / exponentials.sum(axis=-1, keepdims=True)


def attending(**fields: Any) -> Block:
    """A block with the weights that its other numbers give."""
    query, key, mask, scale = (fields[name] for name in ("query", "key", "mask", "scale"))
    return Block(weights=attention(query, key, mask, scale, fields.get("bias"))[1], **fields)
