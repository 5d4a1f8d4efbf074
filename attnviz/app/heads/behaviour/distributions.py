"""Several measures of one head, one below the other: its mean, its spread, and what even attention gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attnviz.app.components.component import widget


@dataclass(frozen=True)
class Measured:
    """One row.

    Attributes:
        words: what it measures, in a few words.
        mean, baseline: where the marks stand on the axis, 0 to 1.
        heights: of the bars that stand side by side along the axis; empty for none.
        written, even: the mean with its spread ("71 % ± 8"), and what even attention gives, as they are read.
        of: what the mean is a share of, and which share of all attention that is.
        ends: how the beginning and the end of the axis are written.
    """

    name: str
    words: str
    mean: float
    baseline: float
    heights: Sequence[float]
    written: str
    of: str
    even: str
    ends: tuple[str, str]
    chosen: bool = False


@widget
def distributions(key: str, rows: Sequence[Measured], /, *, heading: str, caption: str, about: str) -> None:
    """Draws a table with a small picture in each row, and a caption that says in a sentence what it shows.

    `about` is what the saved picture says.
    """
