"""What several Learn pages need: the bundled BERT, run by our own Transformer, with every step in between."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from attnviz.capture import loading
from attnviz.capture.scratch import ScratchModel
from attnviz.models import catalogue
from attnviz.trace import Array, Token
from attnviz.transformer.bert import Bert, BertSteps

MODEL = catalogue.FROM_SCRATCH


def bert() -> Bert:
    """The model; loaded by the first who asks.

    Raises:
        ModelFilesDamaged: its files are missing or changed.
    """
    model = loading.load(MODEL)
    assert isinstance(model, ScratchModel)  # noqa: S101 - the catalogue says so; for the type checker
    return model.bert


def tokens(text: str) -> tuple[Token, ...]:
    """What the model reads of a text, [CLS] and [SEP] included.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    return loading.tokens(MODEL, text)


def token_ids(tokens: tuple[Token, ...]) -> Int[Tensor, " token"]:
    """The tokens' numbers in the vocabulary."""
    return torch.tensor([token.id for token in tokens])


def read_only(array: Array) -> Array:
    """The same array, which nobody can write into any more: all visitors share it."""
    array.setflags(write=False)
    return array


def parameters(module: nn.Module) -> int:
    """How many numbers a module has learned or will learn; shared ones count once."""
    return sum(parameter.numel() for parameter in module.parameters())


def run(text: str, mask: Bool[Tensor, "token token"] | None = None) -> BertSteps:
    """One pass over a text.

    Args:
        text: what is read.
        mask: [query, key], True where a token may look; None: everywhere.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
        InvalidMask: the mask has the wrong size, or lets a token look nowhere.
    """
    with torch.inference_mode():
        steps: BertSteps = bert()(token_ids(tokens(text)), mask)
    return steps
