"""Progress and partial results of a long computation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Found = TypeVar("Found")


@dataclass(frozen=True)
class Progress(Generic[Found]):
    """One step of a long computation. Computations are iterators of steps: to cancel one, stop iterating.

    Attributes:
        done: Number of finished units of work.
        total: Total number of units.
        found: Results for the finished units.
    """

    done: int
    total: int
    found: Found

    @property
    def finished(self) -> bool:
        """True if all work is done."""
        return self.done >= self.total
