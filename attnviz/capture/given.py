"""What a model is given to read, and how it is to write on."""

from __future__ import annotations

from dataclasses import dataclass

MOST_WRITTEN = 100
"""The most tokens that a model is asked to write."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How a decoder chooses the tokens that it writes (the same seed gives the same tokens).

    Attributes:
        tokens: how many it writes at most, 0 to `MOST_WRITTEN`; it may end its text earlier.
        temperature: what its scores are divided by; 0: it always takes the likeliest token.
        top_k: it chooses among so many of the likeliest; 0: among all (Fan et al. 2018).
        top_p: it chooses among the likeliest that together have this probability; 1: among all
            (Holtzman et al. 2020).
        seed: of the random numbers.
    """

    tokens: int
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Given:
    """One reading: a key of the caches, and all that is needed to do it again.

    Attributes:
        text: what the model reads (an encoder–decoder: its encoder). For a model that sees pictures, the
            picture's name.
        second: a second sentence that a model like BERT reads together with the first; None for none.
        target: what the decoder of an encoder–decoder reads; None: what the model itself writes.
        writing: how a decoder writes on; None: it only reads (an encoder–decoder without a target takes the
            likeliest token each time).
    """

    text: str
    second: str | None = None
    target: str | None = None
    writing: Writing | None = None
