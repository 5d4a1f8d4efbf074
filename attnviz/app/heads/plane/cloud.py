"""Thousands of queries and keys as points, to zoom into and to choose from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from attnviz.analysis.plane import Corner
from attnviz.app.components.component import widget

ColouredBy = Literal["kind", "place", "norm", "word"]


@widget
def cloud(
    key: str,
    /,
    *,
    points: str,
    by: ColouredBy,
    origin: bool,
    axes: tuple[str, str],
    title: str,
    alt: str,
    about: str,
    area: Sequence[Corner],
    on_pick: Callable[[Sequence[Corner]], None] | None = None,
) -> None:
    """Draws the points; what is ringed, or framed by keyboard, is picked.

    Args:
        points: what `store.publish` returned for these arrays, float32 [point, 2] or [point], or uint8
            [point]: `places`; `sides` (0: a query, 1: a key); `words` and `lines`, the places of its word and
            its sentence in the facts of these names; the levels `place` and `norm`, 60 to 254; and `word`,
            the place of its word, from 1, among the fact `frequent`, 0 for all others. The fact `ends` has
            what the ends of the two scales of levels are.
        by: what the colours tell.
        origin: whether the origin has a meaning, and is drawn.
        axes: what runs across, and up.
        alt: what one sees, with the numbers.
        about: what is said of it in the saved picture.
        area: in which points are picked, as `analysis.plane.inside` takes it.
        on_pick: called with another such area.
    """
