"""Arrays sent to the browser: levels of all heads for drawing, and exact values of the open heads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.analysis.display_tokens import MIN_SHOWN_SHARE
from attnviz.analysis.window import MAX_CELLS
from attnviz.app.components import store
from attnviz.app.explore import views
from attnviz.app.explore.choices import Heads
from attnviz.app.explore.views import View
from attnviz.app.server.cache import cached
from attnviz.widgets.arrays import Packed, packed

MAX_BYTES = 144 * MAX_CELLS**2
"""Maximum size of the levels of all heads: 12 × 12 heads for a text of `MAX_CELLS` tokens."""


@dataclass(frozen=True)
class PublishedArrays:
    """Store ids of the levels and of the exact values.

    For more than `MAX_CELLS` tokens, only thumbnails are sent here; `long_head` sends the open heads.
    """

    pixels: str
    exact: str | None


def send(view: View, heads: Heads) -> PublishedArrays:
    """Send the arrays that the browser does not have yet; return all store ids."""
    long = max(views.drawn(view).levels.shape[2:]) > MAX_CELLS
    return PublishedArrays(_pixels(view, heads), None if long else _exact(view, heads))


def _pixels(view: View, heads: Heads) -> str:
    """Send the levels of all heads, or of the open heads if all are too large; thumbnails for a long text."""
    levels = views.drawn(view).levels
    if max(levels.shape[2:]) > MAX_CELLS:
        return store.publish("pixels", {"thumbnails": views.atlas_thumbnails(view)})
    all_fit = levels.size <= MAX_BYTES
    return store.send(
        "pixels", _packed(view, () if all_fit else tuple((heads.layer, head) for head in heads.all))
    )


@cached()
def _packed(view: View, heads: tuple[tuple[int, int], ...]) -> Packed:
    """Return the levels of these heads (from 1) and all thumbnails; without heads, the levels of all."""
    picture = views.drawn(view)
    levels = picture.levels
    selected = [(layer - 1, head - 1) for layer, head in heads] or list(np.ndindex(levels.shape[:2]))
    arrays = {"pixels": np.stack([levels[layer, head] for layer, head in selected])}
    if heads:  # otherwise the browser computes the thumbnails from the levels
        arrays["thumbnails"] = views.atlas_thumbnails(view)
    facts = {
        "heads": [[layer + 1, head + 1] for layer, head in selected],
        "high": [float(picture.high[layer, head]) for layer, head in selected],
    }
    return packed("pixels", arrays, facts)


def _exact(view: View, heads: Heads) -> str:
    """Publish the exact numbers of the open heads and the rows' `shown_shares`; return the store id."""
    numbers = views.head_numbers(view, heads.layer, heads.all)
    shown_share = views.shown_shares(view)[heads.layer - 1, [head - 1 for head in heads.all]]
    return store.publish(
        "exact",
        {"values": numbers, "left": shown_share},
        heads=[[heads.layer, head] for head in heads.all],
        hidden=views.hidden_names(view),
        min_kept=MIN_SHOWN_SHARE,
    )
