"""Masks by kind or drawn by hand, the model run with them, and which outputs one changed word reaches."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from attnviz.app.lessons import compute
from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.capture.translator import words
from attnviz.errors import AttnvizError, InvalidMask
from attnviz.models import catalogue
from attnviz.trace import Floats, Mask, Token
from attnviz.trained.translator import reading
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END, START
from attnviz.transformer.masks import (
    causal_mask,
    explicit_mask,
    no_mask,
    padding_mask,
    prefix_mask,
    window_mask,
)

BY_HAND = "by hand"
KINDS = ("causal", "none", "padding", "prefix", "window", BY_HAND)
MAX_EDITED_TOKENS = 40
"""The largest number of tokens of a mask to edit, which the link holds."""
PAD_ID = 0
"""The row of [PAD] in BERT's vocabulary."""


@dataclass(frozen=True)
class MaskChoice:
    """A mask by its kind.

    Attributes:
        kind: "causal", "none", "padding", "prefix", "window" or `BY_HAND`.
        size: the number of [PAD] tokens, of prefix tokens, or of tokens before the query in its window.
        after: the number of tokens after the query in its window.
        drawn: the cells of a mask edited by hand, as `written` returns them; "" masks nothing.
    """

    kind: str
    size: int = 0
    after: int = 0
    drawn: str = ""

    @property
    def pads(self) -> int:
        """The number of [PAD] tokens after the sentence."""
        return self.size if self.kind == "padding" else 0


@dataclass(frozen=True, eq=False)
class MaskedRun:
    """A head of each layer without and with a mask.

    Attributes:
        tokens: those of the sentence, then the [PAD] tokens.
        mask: [query, key], True where a query may attend to a key.
        before: [layer, query, key], the weights without a mask.
        after: the same with the mask in every layer and head; None where a row masks every key.
        problem: why `after` is None; "" otherwise.
    """

    tokens: tuple[Token, ...]
    mask: Mask
    before: Floats
    after: Floats | None
    problem: str


def masked_run(text: str, choice: MaskChoice, head: int) -> MaskedRun:
    """Run the model over the text without and with a mask.

    Args:
        text: the sentence.
        choice: the mask.
        head: from 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text is invalid.
        InvalidMask: the drawn mask is invalid or has another number of tokens.
    """
    real = compute.tokens(text)
    pad = Token("[PAD]", PAD_ID, 0, 0, None, special=True)
    tokens = (*real, *[pad] * choice.pads)
    mask = cells(choice, len(real))
    before = weights(tokens, None, head)
    try:
        return MaskedRun(tokens, mask, before, weights(tokens, mask, head), "")
    except InvalidMask as error:
        return MaskedRun(tokens, mask, before, None, str(error))


def cells(choice: MaskChoice, tokens: int) -> Mask:
    """Return a mask as [query, key], True where a query may attend to a key; a row may be all False.

    Args:
        choice: the mask.
        tokens: the number of tokens of the sentence.

    Raises:
        InvalidMask: the drawn mask is invalid or has another number of tokens.
    """
    if choice.kind == BY_HAND and choice.drawn:
        return read(choice.drawn, tokens)
    total = tokens + choice.pads
    masks = {
        "none": lambda: no_mask(total, total),
        "causal": lambda: causal_mask(total),
        "padding": lambda: padding_mask(torch.arange(total) < tokens, total),
        "prefix": lambda: prefix_mask(total, choice.size),
        "window": lambda: window_mask(total, choice.size, choice.after),
        BY_HAND: lambda: no_mask(total, total),
    }
    mask: Mask = owned(masks[choice.kind]())
    return mask


def weights(tokens: tuple[Token, ...], mask: Mask | None, head: int) -> Floats:
    """Return the weights of one head, [layer, query, key], with the mask in every layer and head.

    Args:
        tokens: the input.
        mask: [query, key], True where a query may attend to a key; None: everywhere.
        head: from 0.

    Raises:
        InvalidMask: the mask has another size, or a row masks every key.
    """
    cells = None if mask is None else explicit_mask(torch.tensor(mask))
    with torch.inference_mode():
        steps = compute.bert()(compute.token_ids(tokens), cells)
    found: Floats = owned(torch.stack([layer.attention.attention.weights[head] for layer in steps.layers]))
    return found


@dataclass(frozen=True)
class Renormalized:
    """What the causal mask does to one row of layer 1, where only the masked keys change.

    Attributes:
        key: the place of the key with the largest weight under the mask.
        before: its weight without a mask.
        allowed: the sum of the weights of all keys up to the query without a mask.
        after: its weight with the mask: before / allowed.
    """

    key: int
    before: float
    allowed: float
    after: float


def renormalized(text: str, head: int, query: int) -> Renormalized:
    """Compare a row of layer 1 without and with the causal mask; head and query from 0."""
    run = masked_run(text, MaskChoice("causal"), head)
    assert run.after is not None  # noqa: S101 - a causal mask leaves each token itself
    before, after = run.before[0, query], run.after[0, query]
    key = int(after.argmax())
    return Renormalized(key, float(before[key]), float(before[: query + 1].sum()), float(after[key]))


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
        InvalidMask: the text is no mask, or one for another number of tokens.
    """
    digits = math.ceil(tokens / 4)
    rows = text.lower().split("-")
    if not all(re.fullmatch("[0-9a-f]+", row) for row in rows):
        raise InvalidMask("The drawn mask cannot be read.")
    if len(rows) != tokens:
        raise InvalidMask(f"The mask was drawn for {len(rows)} tokens, and this sentence has {tokens}.")
    if any(len(row) != digits for row in rows):
        raise InvalidMask("The drawn mask cannot be read: its rows are too short or too long.")
    bits = np.array([[bit == "1" for digit in row for bit in f"{int(digit, 16):04b}"] for row in rows])
    if bits[:, tokens:].any():
        raise InvalidMask("The drawn mask cannot be read: its rows are too long.")
    return compute.read_only(np.ascontiguousarray(bits[:, :tokens]))


@dataclass(frozen=True, eq=False)
class OutputChange:
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
    encoder: OutputChange
    decoder: OutputChange


def replaced(text: str, place: int, replacement: str) -> str:
    """The text with one token replaced by a word of its own.

    Args:
        text: what is read.
        place: the token's place, from 0.
        replacement: what to write there.

    Raises:
        AttnvizError: the token has no characters, or the new text has another number of tokens.
    """
    tokens = compute.tokens(text)
    token = tokens[place]
    if token.start == token.end:
        raise AttnvizError(f"{token.text} is added by the tokenizer and cannot be replaced. Choose a word.")
    edited = f"{text[: token.start]} {replacement} {text[token.end :]}"
    count = len(compute.tokens(edited))
    if count != len(tokens):
        piece = sum(other.word == token.word for other in tokens) > 1
        remedy = (
            f"{token.text} is a piece of a word: replace a whole word."
            if piece
            else "Choose a word that is one token, like: narrow, old, red."
        )
        raise AttnvizError(
            f"The sentence then has {count} tokens instead of {len(tokens)}, so its outputs cannot be "
            f"compared one by one. {remedy}"
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
        compare_outputs(
            compute.run(text, mask).hidden_states[-1], compute.run(edited, mask).hidden_states[-1]
        )
        for mask in (None, causal)
    )
    return Reach(owned(before != after), encoder, decoder)


def compare_outputs(
    before: Float[Tensor, "token d_model"], after: Float[Tensor, "token d_model"]
) -> OutputChange:
    """Compare two runs' outputs, token by token."""
    # As whole numbers: also what equals but is not the same, 0 and −0, would be noticed.
    same: Bool[Tensor, " token"] = (before.view(torch.int32) == after.view(torch.int32)).all(dim=-1)
    similarity = torch.cosine_similarity(before.double(), after.double(), dim=-1)
    return OutputChange(owned(same), owned(1 - similarity))


@dataclass(frozen=True, eq=False)
class TeacherForced:
    """A French sentence as a decoder learns from it, and as it writes it.

    Attributes:
        read: [START] and the French words: what each place reads, beside those before it.
        targets: what each place is to predict: the French words and [END].
        at_once: [place], how probable that is in one pass over the whole sentence, under the causal mask.
        one_by_one: [place], the same from a pass for each place, over the words up to there alone.
        difference: the largest one between the two ways, of any word at any place.
    """

    read: tuple[str, ...]
    targets: tuple[str, ...]
    at_once: Floats
    one_by_one: Floats
    difference: float


def teacher_forced(text: str) -> TeacherForced:
    """Run the translator over its own French of an English text, all places at once and one by one.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the text cannot be read as it is.
    """
    translator = loading.load_translator(catalogue.TRANSLATOR).translator
    english = words(reading.tokens(text))
    french = translator.translate(english)
    targets = (*french, END)
    at_once = translator.steps(english, french).probabilities
    one_by_one = torch.stack(
        [translator.steps(english, french[:place]).probabilities[-1] for place in range(len(targets))]
    )
    rows, columns = torch.arange(len(targets)), FRENCH.ids(targets)
    return TeacherForced(
        read=(START, *french),
        targets=targets,
        at_once=owned(at_once[rows, columns]),
        one_by_one=owned(one_by_one[rows, columns]),
        difference=float((at_once - one_by_one).abs().max()),
    )
