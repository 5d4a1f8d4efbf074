"""Which outputs one changed word reaches: in an encoder, and in a decoder behind its causal mask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from attnviz.app.learn import compute
from attnviz.capture.arrays import owned
from attnviz.errors import AttnvizError
from attnviz.transformer.masks import causal_mask


@dataclass(frozen=True, eq=False)
class Moved:
    """What became of each token's output, the vector that the last layer gives it.

    Attributes:
        unchanged: [token], True where every number of the output is the same to the bit.
        distance: [token], 1 − cosine between the output before and after: 0 same direction, 1 a right angle.
    """

    unchanged: NDArray[np.bool_]
    distance: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reach:
    """Which outputs an edit reaches.

    Attributes:
        edited: [token], True where the two sentences have different tokens.
        encoder: with no mask.
        decoder: with a causal mask, as the same model would run in a decoder.
    """

    edited: NDArray[np.bool_]
    encoder: Moved
    decoder: Moved


def replaced(text: str, place: int, replacement: str) -> str:
    """The text with the characters of one token replaced.

    Args:
        text: what is read.
        place: the token's place, from 0.
        replacement: what to write there.

    Raises:
        AttnvizError: the token stands for no characters, or the new text has another number of tokens.
    """
    tokens = compute.tokens(text)
    token = tokens[place]
    if token.start == token.end:
        raise AttnvizError(f"{token.text} is added by the tokenizer and cannot be replaced. Choose a word.")
    edited = text[: token.start] + replacement + text[token.end :]
    count = len(compute.tokens(edited))
    if count != len(tokens):
        raise AttnvizError(
            f"The sentence then has {count} tokens instead of {len(tokens)}, so its outputs cannot be "
            "compared one by one. Choose a word that is one token, like: narrow, old, red."
        )
    return edited


def reach(text: str, edited: str) -> Reach:
    """Run both texts, first with no mask, then with a causal one, and compare the outputs token by token.

    Raises:
        AttnvizError: the texts do not have equally many tokens.
    """
    before, after = (compute.token_ids(compute.tokens(each)) for each in (text, edited))
    if len(before) != len(after):
        raise AttnvizError(f"One text has {len(before)} tokens, the other {len(after)}.")
    causal = causal_mask(len(before))
    encoder, decoder = (
        moved(compute.run(text, mask).hidden_states[-1], compute.run(edited, mask).hidden_states[-1])
        for mask in (None, causal)
    )
    return Reach(owned(before != after), encoder, decoder)


def moved(before: Float[Tensor, "token d_model"], after: Float[Tensor, "token d_model"]) -> Moved:
    """Compare two runs' outputs, token by token."""
    # As whole numbers: also what equals but is not the same, 0 and −0, would be noticed.
    same: Bool[Tensor, " token"] = (before.view(torch.int32) == after.view(torch.int32)).all(dim=-1)
    similarity = torch.cosine_similarity(before.double(), after.double(), dim=-1)
    return Moved(owned(same), owned(1 - similarity))
