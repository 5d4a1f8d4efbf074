"""Who may look at whom: masks by kind or drawn by hand, and the model run again with them."""

from __future__ import annotations

import math
import re

import numpy as np
import torch

from attnviz.capture.arrays import owned
from attnviz.errors import InvalidTrace
from attnviz.lessons import bert
from attnviz.trace import Floats, Mask
from attnviz.transformer.masks import (
    causal_mask,
    explicit_mask,
    no_mask,
    padding_mask,
    prefix_mask,
    window_mask,
)

BY_HAND = "by hand"
KINDS = ("none", "causal", "padding", "prefix", "window", BY_HAND)


def cells(kind: str, tokens: int, size: int = 0, after: int = 0, drawn: str = "") -> Mask:
    """The cells of a mask, [query, key], True where a query may look; a row may be without any.

    Args:
        kind: one of `KINDS`.
        tokens: how many the sentence has.
        size: how many tokens at the end are padding, how many at the beginning are the prefix, or how many
            before it a query sees through its window.
        after: how many tokens after it a query sees through its window.
        drawn: what `written` made of the cells of a mask drawn by hand; "" opens all.

    Raises:
        InvalidTrace: `drawn` is no mask for so many tokens, or all tokens are padding.
    """
    if kind == BY_HAND and drawn:
        return read(drawn, tokens)
    masks = {
        "none": lambda: no_mask(tokens, tokens),
        "causal": lambda: causal_mask(tokens),
        "padding": lambda: padding_mask(torch.arange(tokens) < tokens - size, tokens),
        "prefix": lambda: prefix_mask(tokens, size),
        "window": lambda: window_mask(tokens, size, after),
        BY_HAND: lambda: no_mask(tokens, tokens),
    }
    mask: Mask = owned(masks[kind]())
    return mask


def weights(text: str, mask: Mask, head: int) -> Floats:
    """One head of each layer: its weights, [layer, query, key], with the mask in every layer and head.

    Args:
        text: what is read.
        mask: [query, key], True where a token may look.
        head: from 0.

    Raises:
        InvalidTrace: the mask has another size, or lets a token look nowhere: this is refused before the
            softmax, which would give a row of NaN.
    """
    steps = bert.run(text, explicit_mask(torch.tensor(mask)))
    found: Floats = owned(torch.stack([layer.attention.attention.weights[head] for layer in steps.layers]))
    return found


def written(mask: Mask) -> str:
    """A mask as text for a link: "8-c-e" for a causal mask of three tokens.

    Each row is one group of hexadecimal digits. A digit holds four cells, 8 the first and 1 the fourth;
    zeros fill up the last one.
    """
    digits = math.ceil(mask.shape[1] / 4)
    rows = np.pad(mask, ((0, 0), (0, 4 * digits - mask.shape[1])))
    return "-".join(
        "".join(f"{int(digit):x}" for digit in row.reshape(-1, 4) @ (8, 4, 2, 1)) for row in rows.astype(int)
    )


def read(text: str, tokens: int) -> Mask:
    """`written` undone.

    Raises:
        InvalidTrace: the text is no mask, or one for another number of tokens.
    """
    digits = math.ceil(tokens / 4)
    rows = text.lower().split("-")
    if not all(re.fullmatch("[0-9a-f]+", row) for row in rows):
        raise InvalidTrace("The drawn mask cannot be read.")
    if len(rows) != tokens:
        raise InvalidTrace(f"The mask was drawn for {len(rows)} tokens, and this sentence has {tokens}.")
    if any(len(row) != digits for row in rows):
        raise InvalidTrace("The drawn mask cannot be read: its rows are too short or too long.")
    bits = np.array([[bit == "1" for digit in row for bit in f"{int(digit, 16):04b}"] for row in rows])
    if bits[:, tokens:].any():
        raise InvalidTrace("The drawn mask cannot be read: its rows are too long.")
    mask = np.ascontiguousarray(bits[:, :tokens])
    mask.setflags(write=False)
    return mask
