"""Repeated words, the two arrows by which a model copies them, and the next word it expects at each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

from attnviz.app.components.component import widget

Role = Literal["back", "match"]


class ShownHead(TypedDict):
    """A head with one of the two roles.

    Attributes:
        name: such as "1-2".
        role: "back": from the word that follows to the word, at the first occurrence; "match": from the
            repeated word to the one that followed it.
        weights: the weight of its arrow, for each word but the last.
        ablated: whether the visitor has ablated it.
    """

    name: str
    role: Role
    weights: Sequence[float]
    ablated: bool


class Next(TypedDict):
    """The most probable word after a repeated word, and the probability of the right one."""

    word: str
    right: float


@widget
def repeated_words(
    name: str,
    /,
    *,
    words: Sequence[str],
    heads: Sequence[ShownHead],
    expected: Sequence[Next],
    place: int,
    about: str,
    on_pick: Callable[[int], None],
    on_ablate: Callable[[str], None],
) -> None:
    """Draws the words downwards, the first time on the left, and the arrows of one of them.

    Args:
        words: of one time.
        heads: those with a role.
        expected: for each word but the last.
        place: the word with the drawn arrows, from 0.
        about: the title of the saved picture.
        on_pick: called with the place of a word that was clicked.
        on_ablate: called with the name of a head that is to be ablated, or no longer.
    """
