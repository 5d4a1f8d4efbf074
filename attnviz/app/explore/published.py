"""What the browser holds: bytes of every head for drawing, and floats of the open heads for reading."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.analysis.display_tokens import MIN_KEPT
from attnviz.analysis.window import MAX_CELLS
from attnviz.app.components import store
from attnviz.app.explore import views
from attnviz.app.explore.choices import Heads
from attnviz.app.explore.views import View
from attnviz.app.server.cache import cached
from attnviz.widgets.arrays import Packed, packed

MAX_BYTES = 144 * MAX_CELLS**2
"""So many, too: a model of more than 12 × 12 heads comes whole only with shorter texts."""


@dataclass(frozen=True)
class PublishedArrays:
    """The ids under which the browser holds the bytes and the floats.

    Of texts of more than `MAX_CELLS` tokens, it has small pictures of all heads; `long_head` sends open ones.
    """

    pixels: str
    exact: str | None


def send(view: View, heads: Heads) -> PublishedArrays:
    """Send the browser what it does not have yet."""
    long = max(views.drawn(view).levels.shape[2:]) > MAX_CELLS
    return PublishedArrays(_pixels(view, heads), None if long else _exact(view, heads))


def _pixels(view: View, heads: Heads) -> str:
    """The pictures of all heads; for long texts, of the open ones, and thumbnails of all."""
    levels = views.drawn(view).levels
    if max(levels.shape[2:]) > MAX_CELLS:
        return store.publish("pixels", {"thumbnails": views.small(view)})
    whole = levels.size <= MAX_BYTES
    return store.send(
        "pixels", _packed(view, () if whole else tuple((heads.layer, head) for head in heads.all))
    )


@cached()
def _packed(view: View, heads: tuple[tuple[int, int], ...]) -> Packed:
    """The pictures of these heads (layer and head from 1), with thumbnails of all; of none: of all heads."""
    picture = views.drawn(view)
    levels = picture.levels
    sent = [(layer - 1, head - 1) for layer, head in heads] or list(np.ndindex(levels.shape[:2]))
    arrays = {"pixels": np.stack([levels[layer, head] for layer, head in sent])}
    if heads:  # from the pictures of all heads, the atlas makes its thumbnails itself
        arrays["thumbnails"] = views.small(view)
    facts = {
        "heads": [[layer + 1, head + 1] for layer, head in sent],
        "high": [float(picture.high[layer, head]) for layer, head in sent],
    }
    return packed("pixels", arrays, facts)


def _exact(view: View, heads: Heads) -> str:
    """The numbers of the open heads, to the last bit, and how much of each of their rows is shown."""
    # A masked cell is NaN.
    numbers = views.readable(view, heads.layer, heads.all)
    left = views.left(view)[heads.layer - 1, [head - 1 for head in heads.all]]
    return store.publish(
        "exact",
        {"values": numbers, "left": left},
        heads=[[heads.layer, head] for head in heads.all],
        hidden=views.hidden(view),
        min_kept=MIN_KEPT,
    )
