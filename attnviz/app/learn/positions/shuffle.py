"""The same tokens in two orders, and what became of each: the same vector, or another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from attnviz.app.components.component import widget


class Outcome(TypedDict):
    """What became of one token's output.

    Attributes:
        before, after: the beginning of the two vectors, as levels 0 to 254; 127 is zero.
        same: whether they are equal but for rounding.
        verdict: what is written beside them: "same", "cos 0.79".
        exact: the largest difference and the cosine, unrounded.
        title: the same in words, for a pointer and for a screen reader.
    """

    before: Sequence[int]
    after: Sequence[int]
    same: bool
    verdict: str
    exact: tuple[float, float]
    title: str


class ShuffledToken(TypedDict):
    """A token at its new place, with one outcome for each column.

    Its numbers in the new and in the original order count from 1; `special`: the tokenizer added it ([CLS],
    [SEP]).
    """

    label: str
    special: bool
    place: int
    came_from: int
    outcomes: Sequence[Outcome]


@widget
def shuffle(
    name: str,
    /,
    *,
    tokens: Sequence[ShuffledToken],
    columns: Sequence[str],
    chosen: int,
    note: str,
    on_pick: Callable[[int], None],
) -> None:
    """Draws both orders, joined by lines, and beside them each token's two outputs in every column.

    Args:
        tokens: in the new order.
        chosen: the number, from 1, that the highlighted token had in the original order.
        note: what the colours mean.
        on_pick: called with the number that a token had in the original order.
    """
