"""A picture with clickable patches, and over it the attention of one of them to each."""

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
    """Draws the picture in grey, and a colour over each patch that is the stronger the larger its weight is.

    Tokens count from 0: first those beside the picture, then its patches, row by row. Beside a text, the
    weights of a patch that is picked are those that it gets.

    Args:
        picture: the address of the picture as the model saw it, which the patches cover.
        whole: the address of the picture as it was, for the little one beside it.
        pixels: what `store.publish` returned for the array `rows`, float32 [layer × head, token]: the weights
            of the token that looks; with the fact `query`, which token that is.
        rows, columns: of patches.
        names: what the tokens beside the picture are called.
        layer, head: the shown head, from 1.
        heads: how many heads a layer has.
        query: the token that looks.
        words: how many of the tokens beside the picture are those of a text, the first ones.
        box: the left, top, right and bottom edge of what the patches cover, as parts of the picture.
        on_pick: called with the token that the visitor picked.
    """
