"""How far a long computation is, and what it has found so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Found = TypeVar("Found")


@dataclass(frozen=True)
class Progress(Generic[Found]):
    """One step of a long computation, which is an iterator of these: stop iterating to stop it.

    Attributes:
        done: how much of it is done.
        total: of how much.
        found: what was found so far: complete in itself, about what is done.
    """

    done: int
    total: int
    found: Found

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.done >= self.total
