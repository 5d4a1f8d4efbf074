"""What a class was asked, and answered: a part of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PollResult:
    """The votes on one question.

    Attributes:
        question, options: plain text.
        right: the right option, from 0; None where none was marked.
        before: how many chose each option in the first vote, if there were two.
        counts: how many chose each option.
    """

    question: str
    options: Sequence[str]
    right: int | None
    before: Sequence[int] | None
    counts: Sequence[int]
