"""All heads of a model at a glance: one small picture each, layers downwards, heads across."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

from attnviz.app.components.component import widget


class Selection(TypedDict):
    """The heads that are shown, all of one layer; layer and heads count from 1."""

    layer: int
    heads: Sequence[int]


@widget
def atlas(
    key: str,
    /,
    *,
    pixels: str,
    layers: int,
    heads: int,
    selected: Selection,
    facts: Sequence[str],
    dim: Sequence[int] = (),
    order: Sequence[int] = (),
    kind: Literal["sequential", "diverging"] = "sequential",
    omitted: str = "",
    on_pick: Callable[[int, int], None] | None = None,
    on_tokens: Callable[[int | None, int | None], None] | None = None,
) -> None:
    """Draws the atlas; a click, Enter or Space on a head picks it.

    The pick is drawn at once by every widget on the page; Python hears of it afterwards.

    Args:
        pixels: what `store.publish` returned for the array `thumbnails`, uint8 [layer × head, t, t], or for
            `pixels`, uint8 [head, query, key] with the fact `heads` (its [layer, head] pairs, from 1).
        layers, heads: how many layers, and heads in each.
        selected: the heads to ring.
        facts: what each head does, layer by layer ("attends to dog (41 %)"); layers × heads of them.
        dim: the heads to draw faintly because a filter left them out; numbered layer by layer from 0.
        order: the heads as they are to stand, each with its name, numbered in the same way; none of them for
            layers downwards and heads across.
        kind: "sequential" (levels 0 to 254 = low to high) or "diverging" (127 = zero); 255 = masked.
        omitted: what is said of it in the saved picture.
        on_pick: called with layer and head, from 1.
        on_tokens: called with query and key if a head view's pick of them is not answered yet: a message
            comes together with older values of Streamlit's own controls, which would undo it.
    """
