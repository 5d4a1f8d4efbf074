"""What a model expects: the tokens that it holds for likely, and how likely each is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnviz.capture.given import Writing
from attnviz.models.catalogue import Expects

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.models.tokenizer import TextTokenizer

MOST_CANDIDATES = 10
"""How many of the likeliest tokens are told."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that could stand in a place.

    Attributes:
        text: as a person reads it (" dog" for GPT-2's "Ġdog").
        id: its row in the vocabulary.
        probability: of the softmax over the whole vocabulary, before any filter.
        share: what it is after temperature, top-k and top-p, by which it is drawn; equal to `probability`
            where nothing was drawn.
    """

    text: str
    id: int
    probability: float
    share: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model expects at one place.

    Attributes:
        position: the token, from 0, at whose place the model expects this: a token after which something
            follows, or a masked token.
        expects: "next", the token that follows there, or "masked", the token that was masked there.
        candidates: the likeliest `MOST_CANDIDATES`, likeliest first.
        actual: the token that really follows (typed, or drawn by the model); None after the last one, unless
            the text ended there, and for a masked token.
    """

    position: int
    expects: Expects
    candidates: tuple[Candidate, ...]
    actual: Candidate | None


def next_tokens(
    network: Any,
    tokenizer: TextTokenizer,
    inputs: Mapping[str, Any],
    writing: Writing | None = None,
    written: int = 0,
    end: int | None = None,
) -> tuple[Prediction, ...]:
    """What a decoder expects to follow at every place, by one pass over all tokens.

    Args:
        network: a transformers model with a head for the next token, in evaluation mode.
        tokenizer: its tokenizer.
        inputs: what it is called with, each [1, token]; the tokens that it expects something after are
            `decoder_input_ids` where there are any, else `input_ids`.
        writing: how it wrote the last tokens, if it wrote any.
        written: how many of the last tokens it wrote.
        end: the token that ended the text, which is not among those tokens since nobody reads it.
    """
    import torch

    from attnviz.capture.writing import drawn_by, habits_of

    read = inputs.get("decoder_input_ids", inputs["input_ids"])[0].tolist()
    ids = read if end is None else [*read, end]
    with torch.inference_mode():
        logits = network(**{**inputs, "use_cache": False}).logits[0].float()
    habits = habits_of(network)
    predictions = []
    for position, scores in enumerate(logits):
        following = position + 1
        probabilities = shares = scores.softmax(-1)
        if writing is not None and len(read) - written <= following < len(ids):
            shares = drawn_by(scores, writing, habits, following)
        actual = (
            _candidate(tokenizer, ids[following], probabilities, shares) if following < len(ids) else None
        )
        predictions.append(Prediction(position, "next", _likeliest(tokenizer, probabilities, shares), actual))
    return tuple(predictions)


def masked_tokens(
    network: Any, tokenizer: TextTokenizer, inputs: Mapping[str, Any]
) -> tuple[Prediction, ...]:
    """What a model like BERT expects behind every masked token; nothing if no token is masked.

    Args:
        network: a transformers model with a head for masked tokens, in evaluation mode.
        tokenizer: its tokenizer.
        inputs: what it is called with, each [1, token].
    """
    import torch

    if tokenizer.mask is None:
        return ()
    mask = tokenizer.id_of(tokenizer.mask)
    masked = [position for position, number in enumerate(inputs["input_ids"][0].tolist()) if number == mask]
    if not masked:
        return ()
    with torch.inference_mode():
        logits = network(**inputs).logits[0].float()
    every = {position: logits[position].softmax(-1) for position in masked}
    return tuple(
        Prediction(position, "masked", _likeliest(tokenizer, probabilities, probabilities), None)
        for position, probabilities in every.items()
    )


def _likeliest(tokenizer: TextTokenizer, probabilities: Tensor, shares: Tensor) -> tuple[Candidate, ...]:
    best = probabilities.topk(min(MOST_CANDIDATES, len(probabilities))).indices.tolist()
    return tuple(_candidate(tokenizer, number, probabilities, shares) for number in best)


def _candidate(tokenizer: TextTokenizer, number: int, probabilities: Tensor, shares: Tensor) -> Candidate:
    return Candidate(tokenizer.readable(number), number, float(probabilities[number]), float(shares[number]))
