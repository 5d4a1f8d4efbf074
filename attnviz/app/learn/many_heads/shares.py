"""One token through all heads of a block: what each looks at, reads, and adds to the output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attnviz.app.components.component import mount

if TYPE_CHECKING:
    from attnviz.app.learn.many_heads.compute import HeadShares

# Enough for every digit that is printed; whole floats would double the message.
_DIGITS = 6


def shares(
    key: str,
    /,
    *,
    query: str,
    tokens: Sequence[str],
    shown: HeadShares,
    selected: int,
    on_pick: Callable[[int], None] | None = None,
) -> None:
    """Draws a row for each head; a click, Enter or Space on a row picks its head.

    Args:
        query: what the token that looks is called.
        tokens: what the tokens that it looks at are called, in order.
        selected: the head whose row is marked and whose arithmetic is written out, from 0.
        on_pick: called with the head, from 0.
    """
    message = {
        "query": query,
        "tokens": tokens,
        "weights": shown.weights.round(_DIGITS),
        "pieces": shown.concatenated.round(_DIGITS),
        "lengths": shown.lengths.round(_DIGITS),
        "cosines": shown.cosines.round(_DIGITS),
        "shares": shown.shares.round(_DIGITS),
        "bias": [shown.bias_length, shown.bias_cosine, shown.bias_share],
        "output": shown.output.round(_DIGITS),
        "output_length": shown.output_length,
        "selected": selected,
    }
    mount("shares", key, message, on_pick=on_pick)
