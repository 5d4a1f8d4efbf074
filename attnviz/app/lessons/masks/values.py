"""Masks, runs of the model with a mask, and the outputs that change when one word is replaced."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from attnviz.app.lessons import compute
from attnviz.capture.arrays import owned
from attnviz.errors import AttnvizError, InvalidMask
from attnviz.trace import Floats, Mask, Token
from attnviz.transformer.masks import (
    causal_mask,
    no_mask,
    padding_mask,
    prefix_mask,
    window_mask,
)

KINDS = ("causal", "none", "padding", "prefix", "window")
PAD_ID = 0
"""Id of [PAD] in BERT's vocabulary."""


@dataclass(frozen=True)
class MaskChoice:
    """The settings of a mask.

    Attributes:
        kind: "causal", "none", "padding", "prefix" or "window".
        size: Number of [PAD] tokens, of prefix tokens, or of tokens before the query in its window.
        after: Number of tokens after the query in its window.
    """

    kind: str
    size: int = 0
    after: int = 0

    @property
    def pads(self) -> int:
        """The number of [PAD] tokens after the sentence."""
        return self.size if self.kind == "padding" else 0


@dataclass(frozen=True, eq=False)
class MaskedRun:
    """The weights of one head per layer, without and with a mask; the heads have the same number.

    Attributes:
        tokens: Tokens of the sentence, then the [PAD] tokens.
        mask: [query, key], True where a query may attend to a key.
        before: [layer, query, key], weights without a mask.
        after: Weights with the mask in every layer and head; None if a row masks every key.
    """

    tokens: tuple[Token, ...]
    mask: Mask
    before: Floats
    after: Floats | None


def masked_run(text: str, choice: MaskChoice, head: int, flipped: tuple[str, ...] = ()) -> MaskedRun:
    """Run the model on a text without and with a mask.

    Args:
        text: The sentence.
        choice: The mask.
        head: Number of the head in each layer, from 0.
        flipped: Edited cells, such as "10>3" for query 10 and key 3, from 1.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text is invalid.
        InvalidMask: a cell does not exist.
    """
    sentence = compute.tokens(text)
    pad = Token("[PAD]", PAD_ID, 0, 0, None, special=True)
    tokens = (*sentence, *[pad] * choice.pads)
    mask = build_mask(choice, len(sentence)).copy()
    for cell in flipped:
        found = re.fullmatch("([1-9][0-9]{0,3})>([1-9][0-9]{0,3})", cell, re.ASCII)
        if found is None or max(map(int, found.groups())) > len(tokens):
            raise InvalidMask(f"“{cell}” is not a cell of the matrix. For example, “2>1” is query 2, key 1.")
        mask[int(found[1]) - 1, int(found[2]) - 1] ^= True
    before = weights(tokens, None, head)
    try:
        return MaskedRun(tokens, compute.read_only(mask), before, weights(tokens, mask, head))
    except InvalidMask:
        return MaskedRun(tokens, compute.read_only(mask), before, None)


def build_mask(choice: MaskChoice, tokens: int) -> Mask:
    """Return a mask, [query, key], True where a query may attend to a key; `tokens` excludes [PAD]."""
    total = tokens + choice.pads
    masks = {
        "none": lambda: no_mask(total, total),
        "causal": lambda: causal_mask(total),
        "padding": lambda: padding_mask(torch.arange(total) < tokens, total),
        "prefix": lambda: prefix_mask(total, choice.size),
        "window": lambda: window_mask(total, choice.size, choice.after),
    }
    mask: Mask = owned(masks[choice.kind]())
    return mask


def weights(tokens: tuple[Token, ...], mask: Mask | None, head: int) -> Floats:
    """Return the weights of one head per layer, [layer, query, key]; the mask applies to all of them.

    Args:
        tokens: The input.
        mask: [query, key], True where a query may attend to a key; None for no mask.
        head: Number of the head in each layer, from 0.

    Raises:
        InvalidMask: the mask has the wrong size, or a row masks every key.
    """
    cells = None if mask is None else torch.tensor(mask)
    with torch.inference_mode():
        steps = compute.bert()(compute.token_ids(tokens), cells)
    found: Floats = owned(torch.stack([layer.attention.attention.weights[head] for layer in steps.layers]))
    return found


@dataclass(frozen=True)
class Renormalized:
    """The effect of the causal mask on one row of layer 1, where unmasked scores do not change.

    Attributes:
        key: Position of the key with the largest weight under the mask.
        before: Weight of this key without a mask.
        allowed: Sum of the weights, without a mask, of all keys up to the query.
        after: Weight of this key with the mask: before / allowed.
    """

    key: int
    before: float
    allowed: float
    after: float


def renormalized(text: str, head: int, query: int) -> Renormalized:
    """Compare a row of layer 1 without and with the causal mask; head and query from 0."""
    run = masked_run(text, MaskChoice("causal"), head)
    assert run.after is not None  # noqa: S101 - a causal mask masks no whole row
    before, after = run.before[0, query], run.after[0, query]
    key = int(after.argmax())
    return Renormalized(key, float(before[key]), float(before[: query + 1].sum()), float(after[key]))


@dataclass(frozen=True, eq=False)
class OutputChange:
    """The change of each token's output, its vector after the last layer.

    Attributes:
        unchanged: [token], True where the output is bit-identical.
        distance: [token], 1 − cosine of the outputs before and after: 0 if parallel, 1 if orthogonal.
    """

    unchanged: NDArray[np.bool_]
    distance: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reach:
    """The changes of the outputs when the sentence is edited.

    Attributes:
        edited: [token], True where the two sentences have different tokens.
        encoder: Changes without a mask.
        decoder: Changes with a causal mask, as in a decoder.
    """

    edited: NDArray[np.bool_]
    encoder: OutputChange
    decoder: OutputChange


def replaced(text: str, place: int, replacement: str) -> str:
    """Replace one token of a text with another word.

    Args:
        text: The sentence.
        place: Position of the token, from 0.
        replacement: Text that replaces the token.

    Raises:
        AttnvizError: the token has no characters in the text, or the number of tokens changes.
    """
    tokens = compute.tokens(text)
    token = tokens[place]
    if token.start == token.end:
        raise AttnvizError(f"{token.text} is added by the tokenizer and cannot be replaced. Choose a word.")
    edited = f"{text[: token.start]} {replacement} {text[token.end :]}"
    count = len(compute.tokens(edited))
    if count != len(tokens):
        raise AttnvizError(
            f"With this replacement, the sentence has {count} tokens instead of {len(tokens)}, so its "
            "outputs cannot be compared. Replace a whole word with a one-token word, such as narrow, old "
            "or red."
        )
    return edited


def reach(text: str, edited: str) -> Reach:
    """Compare the outputs for two texts token by token, without and with a causal mask.

    Raises:
        AttnvizError: the texts have different numbers of tokens.
    """
    before, after = (compute.token_ids(compute.tokens(each)) for each in (text, edited))
    if len(before) != len(after):
        raise AttnvizError(
            f"Both texts need the same number of tokens, but have {len(before)} and {len(after)}."
        )
    causal = causal_mask(len(before))
    encoder, decoder = (
        compare_outputs(
            compute.run(text, mask).hidden_states[-1], compute.run(edited, mask).hidden_states[-1]
        )
        for mask in (None, causal)
    )
    return Reach(owned(before != after), encoder, decoder)


def compare_outputs(
    before: Float[Tensor, "token d_model"], after: Float[Tensor, "token d_model"]
) -> OutputChange:
    """Compare the outputs of two runs, token by token."""
    # Compared as integers, to distinguish 0 and −0.
    same: Bool[Tensor, " token"] = (before.view(torch.int32) == after.view(torch.int32)).all(dim=-1)
    similarity = torch.cosine_similarity(before.double(), after.double(), dim=-1)
    return OutputChange(owned(same), owned(1 - similarity))
