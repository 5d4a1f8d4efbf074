"""A mask to draw: one button for each query and key, opened and closed by mouse, finger or keyboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnviz.app.components.component import widget
from attnviz.trace import Floats
from attnviz.widgets.tokens import ShownToken

MAX_TOKENS = 40
"""The largest number of tokens of a mask to draw: more cells would be too small."""


@widget
def mask_editor(
    name: str,
    /,
    *,
    tokens: Sequence[ShownToken],
    mask: str,
    without: Floats,
    with_mask: Floats | None,
    query: int,
    on_draw: Callable[[str], None],
) -> None:
    """Draws the mask's cells with the weights in them; a change is seen at once, before Python answers.

    Until the answer comes, or while there is none, the numbers of another mask are not shown.

    Args:
        tokens: the rows and the columns, in order; at most `MAX_TOKENS`.
        mask: as `lessons.masks.written` writes it.
        without: the weights without a mask, [query, key].
        with_mask: the weights under this mask; None where it was refused.
        query: the row to mark, from 0.
        on_draw: called with the mask that the visitor drew, written in the same way.
    """
