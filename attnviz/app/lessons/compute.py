"""The bundled BERT, run by `attnviz.transformer` with all intermediate results."""

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
    """Return the model, loaded at the first call.

    Raises:
        ModelFilesDamaged: the model's files are missing or changed.
    """
    model = loading.load(MODEL)
    assert isinstance(model, ScratchModel)  # noqa: S101 - true by the catalogue; for the type checker
    return model.bert


def tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text, including [CLS] and [SEP].

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text is invalid.
    """
    return loading.tokens(MODEL, text)


def token_ids(tokens: tuple[Token, ...]) -> Int[Tensor, " token"]:
    """Return the ids of the tokens."""
    return torch.tensor([token.id for token in tokens])


def read_only(array: Array) -> Array:
    """Make an array read-only, because all visitors share it; return it."""
    array.setflags(write=False)
    return array


def num_parameters(module: nn.Module) -> int:
    """Return the number of parameters of a module; shared parameters count once."""
    return sum(parameter.numel() for parameter in module.parameters())


def run(text: str, mask: Bool[Tensor, "token token"] | None = None) -> BertSteps:
    """Run BERT on a text.

    Args:
        text: Input of the model.
        mask: [query, key], True where a query may attend to a key; None for no mask.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text is invalid.
        InvalidMask: the mask has the wrong size, or masks every key of a query.
    """
    with torch.inference_mode():
        steps: BertSteps = bert()(token_ids(tokens(text)), mask)
    return steps
