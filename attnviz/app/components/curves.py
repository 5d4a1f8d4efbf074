"""Line charts with a tooltip at each point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import streamlit as st
from numpy.typing import ArrayLike

from attnviz.app.state.choices import TEACHER

Dash = Literal["solid", "dash", "dot"]
Marker = Literal["circle", "square", "diamond", "cross"]
Colour = Literal["query", "key", "value", "weights", "feed-forward", "text", "muted"]

_DASHES: dict[Dash, list[int]] = {"solid": [], "dash": [6, 4], "dot": [2, 3]}
_AXIS_HEIGHT, _ENTRY_HEIGHT = 45, 20  # pixels; an axis has labels and a title
# The title of the vertical axis is printed above it: a long title does not fit beside a low chart.
_TITLE_ABOVE = {"titleAngle": 0, "titleAlign": "left", "titleBaseline": "bottom", "titleX": 0, "titleY": -8}
_LEGEND = {"orient": "bottom", "labelLimit": 0, "symbolSize": 100}
# The colours of the roles, as in attnviz/widgets/palette.js.
_COLOURS: dict[str, dict[Colour, str]] = {
    "light": {
        "query": "#1d4ed8",
        "key": "#b91c1c",
        "value": "#15803d",
        "weights": "#6d28d9",
        "feed-forward": "#0e7490",
        "text": "#1c1c28",
        "muted": "#6b7280",
    },
    "dark": {
        "query": "#93c5fd",
        "key": "#fca5a5",
        "value": "#86efac",
        "weights": "#c4b5fd",
        "feed-forward": "#67e8f9",
        "text": "#f2f3f8",
        "muted": "#9ca3af",
    },
}


@dataclass(frozen=True)
class Line:
    """One series of points.

    Attributes:
        label: Name in the legend; "" omits the line from the legend.
        x, y: [point], of equal length.
        low, high: [point], ends of an error bar or a band; None draws neither.
        band: Draw a band instead of error bars.
        dash: Dash style of the line; None draws no line.
        marker: Marker of each point; None draws no markers.
        colour: A role, "text" or "muted".
        faint: Draw the line faintly, as one of many in the background.
        points: Indices of the points with a marker, from 0; None marks all.
        printed: [point], text beside each point; None prints nothing.
        before: Print the text to the left of the points, not to the right.
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
    printed: Sequence[str] | None = None
    before: bool = False


@dataclass(frozen=True)
class Axis:
    """The horizontal or the vertical axis.

    Attributes:
        label: Title of the axis, with the unit.
        log: Base of a logarithmic scale; None for a linear scale.
        zero: Include 0 in the scale.
        at: Format of x in a tooltip; "{x}" is replaced with the number.
        digits: Number of decimals of y in a tooltip.
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
    x_axis: Axis,
    y_axis: Axis,
    marked: float | None = None,
    faint: str = "",
    plane: bool = False,
    height: int = 220,
    alt: str,
) -> None:
    """Draw the lines in one chart, the last one on top.

    Args:
        name: Streamlit key of the chart.
        lines: Labelled lines in the order of the legend, then faint lines.
        title: Title of the chart.
        x_axis, y_axis: Horizontal and vertical axis.
        marked: Position of a dotted vertical line on the horizontal axis; None for no line.
        faint: Legend entry shared by all faint lines.
        plane: Use the same scale for both axes.
        height: Chart height in pixels.
        alt: Text alternative for screen readers, including the numbers.
    """
    x, y = _axis(x_axis, [line.x for line in lines]), _axis(y_axis, [line.y for line in lines])
    y["axis"] = y.get("axis", {}) | _TITLE_ABOVE
    if plane:
        numbers = [np.asarray(side, dtype=float) for line in lines for side in (line.x, line.y)]
        ends = [float(min(map(np.min, numbers))), float(max(map(np.max, numbers)))]
        for axis in (x, y):
            axis["scale"] |= {"domain": ends, "nice": False}
    legend = _legend(lines, faint)
    layers = [layer for line in lines for layer in _layers(line, faint, legend, x_axis, y_axis, x, y)]
    if marked is not None:
        rule = {"type": "rule", "strokeDash": _DASHES["dot"], "color": _colour("muted")}
        layers.insert(0, _layer([{"x": marked}], rule, {"x": {"field": "x", **x}}))
    columns = 2 if TEACHER.get(False) else 1
    entries = -(-len(legend["color"]["scale"]["domain"]) // columns)
    size = height + _AXIS_HEIGHT + (_ENTRY_HEIGHT * entries if entries > 1 else 0)
    spec = {
        "description": f"{title}. {alt}",
        "height": height if plane else size,
        "width": height if plane else "container",
        "layer": layers,
        "config": config(columns),
    }
    if plane:  # the plot itself is a square; titles and legend are added around it
        spec["autosize"] = {"type": "pad"}
    st.vega_lite_chart(spec=spec, width="content" if plane else "stretch", key=name)


def config(columns: int = 1) -> dict[str, Any]:
    """Return the style of a chart, with larger type in the teacher's view."""
    font = 18 if TEACHER.get(False) else 13
    return {
        "axis": {"labelFontSize": font, "titleFontSize": font, "labelPadding": 6, "titlePadding": 6},
        "legend": {"labelFontSize": font, "columns": columns},
        "text": {"fontSize": font},
    }


def _axis(axis: Axis, values: Sequence[ArrayLike]) -> dict[str, Any]:
    """Return the Vega-Lite channel of an axis without `field`; a log axis has ticks at powers of its base."""
    numbers = np.concatenate([np.asarray(value, dtype=float) for value in values])
    channel: dict[str, Any] = {"type": "quantitative", "title": axis.label, "scale": {"zero": axis.zero}}
    if np.array_equal(numbers, np.round(numbers)):
        channel["axis"] = {"tickMinStep": 1}
    if axis.log:
        powers = np.log(numbers) / np.log(axis.log)
        ticks = [
            float(axis.log) ** power
            for power in range(round(np.nanmin(powers)), round(np.nanmax(powers)) + 1)
        ]
        channel |= {"scale": {"type": "log", "base": axis.log}, "axis": {"values": ticks}}
    return channel


def _colour(colour: Colour) -> str:
    return _COLOURS["dark" if st.context.theme.type == "dark" else "light"][colour]


def _legend(lines: Sequence[Line], faint: str) -> dict[str, Any]:
    """Return the channels that map each labelled line to its colour, dash and marker."""
    named = [(faint if line.faint else line.label, line) for line in lines]
    labelled = {label: line for label, line in reversed(named) if label}
    labels = [label for label in dict.fromkeys(label for label, _ in named) if label]

    def scale(values: list[Any]) -> dict[str, Any]:
        return {
            "field": "line",
            "type": "nominal",
            "scale": {"domain": labels, "range": values},
            "title": None,
            "legend": _LEGEND if len(labels) > 1 else None,
        }

    return {
        "color": scale([_colour(labelled[label].colour) for label in labels]),
        "strokeDash": scale([_DASHES[labelled[label].dash or "solid"] for label in labels]),
        "shape": scale([labelled[label].marker or "stroke" for label in labels]),
    }


def _layer(rows: list[dict[str, Any]], mark: dict[str, Any], encoding: dict[str, Any]) -> dict[str, Any]:
    # Streamlit's default tooltip has all fields.
    no_tooltip: dict[str, Any] = {} if "tooltip" in encoding else {"tooltip": None}
    return {"data": {"values": rows}, "mark": mark | no_tooltip, "encoding": encoding}


def _layers(
    line: Line,
    faint: str,
    legend: dict[str, Any],
    x_axis: Axis,
    y_axis: Axis,
    x: dict[str, Any],
    y: dict[str, Any],
) -> list[dict[str, Any]]:
    """Return the marks of one line, each with its data."""
    label = faint if line.faint else line.label
    colour = {"color": legend["color"] if label else {"value": _colour(line.colour)}}
    at = {"x": {"field": "x", **x}, "y": {"field": "y", **y}, **colour}
    rows = _rows(line, label, x_axis, y_axis)
    layers = []
    if line.low is not None:
        ends: dict[str, Any] = {"type": "area", "opacity": 0.2} if line.band else {"type": "rule"}
        layers.append(_layer(rows, ends, at | {"y": {"field": "low", **y}, "y2": {"field": "high"}}))
    if line.dash is not None:
        thin: dict[str, Any] = {"opacity": 0.3, "strokeWidth": 1} if line.faint else {"strokeWidth": 2}
        dash: dict[str, Any] = {"value": _DASHES[line.dash]}
        if label:
            dash = legend["strokeDash"]
        order = {"field": "order", "type": "quantitative"}
        layers.append(_layer(rows, {"type": "line"} | thin, at | {"strokeDash": dash, "order": order}))
    if not line.faint:
        points = rows if line.points is None else [rows[point] for point in line.points]
        tooltip = [{"field": "at", "title": x_axis.label}, {"field": "value", "title": label or y_axis.label}]
        opacity = 1 if line.marker else 0  # an invisible point still has a tooltip
        point = {"type": "point", "filled": True, "size": 50, "opacity": opacity}
        shape = {"shape": legend["shape"]} if label and line.marker else {}
        layers.append(_layer(points, point, at | shape | {"tooltip": tooltip}))
    if line.printed is not None:
        side = {"align": "right", "dx": -6} if line.before else {"align": "left", "dx": 6}
        text = {"type": "text", "dy": -6} | side
        layers.append(_layer(rows, text, at | {"text": {"field": "printed"}}))
    return layers


def _rows(line: Line, label: str, x_axis: Axis, y_axis: Axis) -> list[dict[str, Any]]:
    """Return a row for each point; numbers have six significant digits, to keep the message short."""
    sides = [side for side in (line.x, line.y, line.low, line.high) if side is not None]
    columns = [np.asarray(side, dtype=float).tolist() for side in sides]
    rows: list[dict[str, Any]] = []
    for order, (x, y, *ends) in enumerate(zip(*columns, strict=True)):
        row: dict[str, Any] = {"line": label, "order": order, "x": _short(x), "y": _short(y)}
        row |= {"at": x_axis.at.replace("{x}", f"{x:g}"), "value": f"{y:.{y_axis.digits}f}"}
        if ends:
            row |= {"low": _short(ends[0]), "high": _short(ends[1])}
        if line.printed is not None:
            row["printed"] = line.printed[order]
        rows.append(row)
    return rows


def _short(value: float) -> float | None:
    return None if np.isnan(value) else float(f"{value:.6g}")
