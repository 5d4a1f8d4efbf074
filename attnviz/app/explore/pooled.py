"""Several heads combined: their mean or maximum, and the range of each number over the heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from attnviz.app.explore import views
from attnviz.app.explore.choices import Heads, Together
from attnviz.app.explore.views import View
from attnviz.app.server.cache import cached
from attnviz.text import plural
from attnviz.trace import Floats


@dataclass(frozen=True, eq=False)
class Pooled:
    """The combined numbers of several heads.

    Attributes:
        values: [shown query, shown key]; NaN where the key is masked in every head.
        lowest, highest: Minimum and maximum over the heads, as `values`.
        heading: Heading of the picture.
    """

    values: Floats
    lowest: Floats
    highest: Floats
    heading: str

    @property
    def high(self) -> float:
        """The largest absolute value; 1 if all are 0."""
        return float(np.nanmax(np.abs(self.values))) or 1.0


def pooled(view: View, heads: Heads, together: Together) -> Pooled:
    """Return the combined numbers of the open layer's heads, or of all heads."""
    how: Literal["mean", "max"] = "mean" if together.startswith("Mean") else "max"
    return _pooled(view, heads.layer if together.endswith("layer") else None, how)


@cached()
def _pooled(view: View, layer: int | None, how: Literal["mean", "max"]) -> Pooled:
    these = slice(None) if layer is None else slice(layer - 1, layer)
    numbers, allowed = views.values(view)[these], views.allowed(view)[these]
    present = allowed.any(axis=(1, 2))  # some layers may have no weights
    numbers, allowed = numbers[present], allowed[present]
    numbers = np.where(allowed[:, None], numbers, 0).reshape(-1, *numbers.shape[2:])
    reduced = [reduce(numbers, axis=0) for reduce in (np.mean, np.min, np.max)]
    mean, lowest, highest = (
        np.where(allowed.any(axis=0), each, np.nan).astype(np.float32) for each in reduced
    )
    where = f"layer {layer}" if layer else plural(len(allowed), "layer")
    named = "Mean" if how == "mean" else "Maximum"
    heading = f"{named} over the {plural(len(numbers), 'head')} of {where}"
    return Pooled(mean if how == "mean" else highest, lowest, highest, heading)
