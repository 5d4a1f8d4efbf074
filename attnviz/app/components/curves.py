"""Lines and points over an axis, read at any place by pointing or with the arrow keys, and saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from attnviz.app.components.component import mount

Dash = Literal["solid", "dash", "dot", "dashdot"]
Marker = Literal["circle", "ring", "square", "diamond", "cross"]
Colour = Literal["query", "key", "value", "weights", "feed-forward", "text", "muted"]


@dataclass(frozen=True)
class Line:
    """One series of points.

    Attributes:
        label: what it is called; "": a line to look at, not to read.
        x, y: [point], of equal length.
        low, high: [point], from where to where an error bar or a band goes; None for neither.
        band: whether they are a band instead of bars.
        dash: of the line that joins the points; None for none.
        marker: at each point; None for none.
        colour: a role's, the text's, or a muted one.
        faint: whether it is one of many in the background.
        points: which points have a marker and can be read, from 0; None for all.
        names: [point], what a point is called in place of its x.
        printed: [point], what stands beside each point, where there is room; None for nothing.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    band: bool = False
    dash: Dash | None = "solid"
    marker: Marker | None = None
    colour: Colour = "weights"
    faint: bool = False
    points: Sequence[int] | None = None
    names: Sequence[str] | None = None
    printed: Sequence[str] | None = None


@dataclass(frozen=True)
class Axis:
    """What runs across, or up.

    Attributes:
        label: what it is, with its unit.
        log: the base of a logarithmic scale, whose powers are marked; None for a linear scale.
        zero: whether the scale has to begin at 0 or reach it.
        at: how a place on it is read out, if it runs across; "{x}" stands for its number.
        digits: decimals of the values that are read out, if it runs up.
    """

    label: str
    log: int | None = None
    zero: bool = False
    at: str = "{x}"
    digits: int = 2


def curves(
    name: str,
    lines: Sequence[Line],
    /,
    *,
    title: str,
    across: Axis,
    up: Axis,
    marked: float | None = None,
    faint: str = "",
    plane: bool = False,
    height: int = 220,
    alt: str,
    about: str = "",
) -> None:
    """Draws the lines over each other, the last on top.

    Args:
        name: Streamlit's key of this widget.
        lines: those that are read first, then faint ones; in the order of the legend.
        title: what the chart is called, for the saved files and for those who do not see it.
        across, up: the axes.
        marked: the x that a dotted line and larger points mark.
        faint: what the faint lines are called together.
        plane: whether both axes have one scale and points are read one by one, not by their x.
        height: of the drawing between the axes, in pixels.
        alt: what one sees, with the numbers.
        about: what the saved picture says; "" for the page's sentence and model.
    """
    message = {
        "lines": [_sent(line) for line in lines],
        "title": title,
        "across": across,
        "up": up,
        "marked": marked,
        "faint": faint,
        "plane": plane,
        "height": height,
        "alt": alt,
        "about": about,
    }
    mount("curves", name, message)


def _sent(line: Line) -> dict[str, Any]:
    numbers = {name: _numbers(getattr(line, name)) for name in ("x", "y", "low", "high")}
    places = None if line.points is None else [int(point) for point in line.points]
    return vars(line) | numbers | {"points": places}


def _numbers(values: ArrayLike | None) -> list[float] | None:
    """As short as the picture allows: whole floats would double the message."""
    if values is None:
        return None
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=float).tolist()]
