"""A long sentence, what networks keep of it, and what each makes of that in French."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from attnviz.app.components.component import widget
from attnviz.app.learn.computed import long_distances as compute

Role = Literal["referent", "pronoun", ""]


class ReadWord(TypedDict):
    """One word of a sentence that is read.

    Attributes:
        clause: which of the inserted clauses it belongs to, from 1; 0: none.
        weight: how much the head on show reads it; None: it cannot.
        role: the noun that is meant, the pronoun, or neither.
    """

    text: str
    clause: int
    weight: float | None
    role: Role


class Sentence(TypedDict):
    """One sentence, in the language of a code ("en"), as a head reads it; `reads`: what the shading means."""

    title: str
    language: str
    reads: str
    words: Sequence[ReadWord]


@dataclass(frozen=True)
class Network:
    """One network's translation.

    Attributes:
        verdict: how much of its translation is right; `exact`: all of it.
        keeps: what the network keeps of the sentence, in words.
        levels, columns: the same as a picture, row by row; from `levels`.
        words: the translation.
    """

    name: str
    verdict: str
    exact: bool
    keeps: str
    levels: list[int]
    columns: int
    words: Sequence[compute.MarkedWord]


@widget
def stretched(key: str, /, *, sentences: Sequence[Sentence], networks: Sequence[Network], about: str) -> None:
    """Draws the sentences, shaded by the weights; below them, what each network keeps, and what it writes.

    `about` is what the saved picture says.
    """
