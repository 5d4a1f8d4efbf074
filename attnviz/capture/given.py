"""What a model is given to read, and how it is to write on."""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass

from attnviz.errors import AttnvizError

MOST_WRITTEN = 100
"""The most tokens that a model is asked to write."""

LEAST_TEMPERATURE, MOST_TEMPERATURE = 0.01, 10.0
"""What scores may be divided by, besides 0 for no chance at all."""

MOST_SEED = 2**32 - 1
"""The largest number that random numbers may start from."""

_MOST_QUOTED = 30  # characters of a wrong number that its error message repeats


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

    Raises:
        AttnvizError: a number is out of its range.
    """

    tokens: int
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _whole("The number of tokens to write", self.tokens, MOST_WRITTEN)
        _whole("top-k", self.top_k)
        _whole("The seed", self.seed, MOST_SEED)
        if not (
            _real(self.temperature)
            and (self.temperature == 0 or LEAST_TEMPERATURE <= self.temperature <= MOST_TEMPERATURE)
        ):
            raise AttnvizError(
                "The temperature must be 0 (always the likeliest token) or a number from "
                f"{LEAST_TEMPERATURE:g} to {MOST_TEMPERATURE:g}, not {self.temperature!r:.{_MOST_QUOTED}}."
            )
        if not (_real(self.top_p) and 0 < self.top_p <= 1):
            raise AttnvizError(
                "top-p must be a number above 0 and not above 1 (1: choose among all tokens), "
                f"not {self.top_p!r:.{_MOST_QUOTED}}."
            )


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

    Raises:
        TypeError: something is of another type; the message says what is needed.
    """

    text: str
    second: str | None = None
    target: str | None = None
    writing: Writing | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"The text must be one str, not {_told(self.text)}.")
        for name in ("second", "target"):
            if not isinstance(getattr(self, name), str | None):
                raise TypeError(f"{name} must be a str or None, not {_told(getattr(self, name))}.")
        if not isinstance(self.writing, Writing | None):
            raise TypeError(f"writing must be a Writing, as in Writing(20), not {_told(self.writing)}.")


def as_given(given: str | Given) -> Given:
    """A text alone is read as it is."""
    return Given(given) if isinstance(given, str) else given


def _told(found: object) -> str:
    return f"{reprlib.repr(found)} ({type(found).__name__})"


def _real(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)


def _whole(what: str, number: object, most: float = math.inf) -> None:
    if not (isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= most):
        upto = f"to {most:,}" if math.isfinite(most) else "or more"
        raise AttnvizError(f"{what} must be a whole number, 0 {upto}, not {number!r:.{_MOST_QUOTED}}.")
