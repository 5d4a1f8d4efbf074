"""What a model expects: the tokens that it holds for likely, and how likely each is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MOST_CANDIDATES = 10
"""How many of the likeliest tokens are told."""

Expects = Literal["next", "masked"]


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
        actual: the token that really follows (typed, or drawn by the model); None after the last one, and for
            a masked token.
    """

    position: int
    expects: Expects
    candidates: tuple[Candidate, ...]
    actual: Candidate | None
