"""A sentence on its way from English to French: which word read which, one French word at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from attnviz.app.components.component import widget
from attnviz.widgets.tokens import ShownToken


class DrawnAttention(TypedDict):
    """What one kind of attention read.

    Attributes:
        caption: which layer and heads are shown: "layer 2, head 1".
        heads: their numbers, from 1.
        weights: [head][query][key]; every row sums to 1.
    """

    caption: str
    heads: list[int]
    weights: list[list[list[float]]]


@widget
def translation(
    key: str,
    /,
    *,
    source: Sequence[ShownToken],
    target: Sequence[ShownToken],
    written: Sequence[ShownToken],
    row: int,
    encoder: DrawnAttention,
    cross: DrawnAttention,
    decoder: DrawnAttention,
    title: str,
    on_pick: Callable[[int], None],
) -> None:
    """Draws both sentences, and the lines from a French word back to what it was made of.

    The decoder's row `r` is that of the token `target[r]` and chooses `written[r]`. Its lines lead to the
    English words that it read; from the one read most, lines lead on to what that one read in the encoder.
    Pointing at a word shows its lines; ← and → on a French word step through the rows.

    Args:
        source: the English tokens; the encoder's queries and keys, and the keys of cross-attention.
        target: what the decoder reads: [START] and all French words.
        written: what its rows choose: all French words and [END].
        row: the row that is shown, from 0.
        encoder: one head.
        cross, decoder: one head or several, which are drawn side by side, never averaged.
        title: what heads the saved picture.
        on_pick: called with the row, from 0, that the visitor stepped to.
    """
