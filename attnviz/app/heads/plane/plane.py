"""A head's queries and keys as points of one plane; pointing at one shows who looks at whom from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnviz.analysis.plane import Plane
from attnviz.app.components.component import mount
from attnviz.trace import Doubles
from attnviz.widgets.tokens import ShownToken


def plane(
    name: str,
    /,
    *,
    points: Plane,
    queries: Sequence[ShownToken],
    keys: Sequence[ShownToken],
    numbers: str,
    query: int,
    axes: tuple[str, str],
    title: str,
    alt: str,
    kept: str,
    on_pick: Callable[[int], None] | None = None,
) -> None:
    """Draws the points, the tokens they belong to as buttons, and the numbers of what is pointed at.

    Args:
        numbers: what `store.publish` returned for the arrays `weights`, `scores` and `distances`, float32
            [query, key]; a weight is not a number where the mask forbids to look.
        query: the query that is chosen, from 0.
        axes: what runs across, and up.
        alt: what one sees, with the numbers.
        kept: how much of the vectors the plane keeps, for the saved picture.
        on_pick: called with the query that was chosen, from 0.
    """
    message = {
        "keeps": points.keeps,
        "points": {"query": _sent(points.queries.T), "key": _sent(points.keys.T)},
        "tokens": {"query": list(queries), "key": list(keys)},
        "numbers": numbers,
        "query": query,
        "axes": axes,
        "title": title,
        "alt": alt,
        "left_out": kept,
    }
    mount("plane", name, message, on_pick=on_pick)


def _sent(coordinates: Doubles) -> list[list[float]]:
    """[axis][point], as short as the picture allows: whole floats would double the message."""
    return [[float(f"{value:.6g}") for value in axis] for axis in coordinates.tolist()]
