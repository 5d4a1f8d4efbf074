"""A picture with clickable patches, coloured by the attention weights of the selected token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnviz.app.components.component import widget


@widget
def patches(
    key: str,
    /,
    *,
    picture: str,
    whole: str,
    pixels: str,
    rows: int,
    columns: int,
    names: Sequence[str],
    layer: int,
    head: int,
    heads: int,
    query: int,
    words: int = 0,
    box: Sequence[float] = (0, 0, 1, 1),
    on_pick: Callable[[int], None] | None = None,
) -> None:
    """Draw the picture in grey, and colour each patch: the larger its weight, the stronger the colour.

    Tokens count from 0: first the tokens that are not patches, then the patches, row by row. In a model with
    text, the weights drawn for a selected patch are the weights on this patch.

    Args:
        picture: Data URL of the picture that contains the patches; see `box`.
        whole: Data URL of the original picture, for the thumbnail.
        pixels: Store id of the array `rows`, float32 [layer × head, token], the weights of the selected
            token, with its index as metadata `query`.
        rows, columns: Numbers of rows and columns of patches.
        names: Names of the tokens that are not patches.
        layer, head: Shown head, from 1.
        heads: Number of heads in the layer.
        query: Selected token.
        words: Number of text tokens, which come first.
        box: Left, top, right and bottom edges of the area of the patches, as fractions of `picture`.
        on_pick: Called with the token that the visitor selected.
    """
