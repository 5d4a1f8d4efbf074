"""A heatmap of the sinusoidal positional encodings, with the formula of each cell in its tooltip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from attnviz.app.components.curves import config
from attnviz.app.state.choices import TEACHER
from attnviz.trace import Floats

_DIGITS = 6  # with 4, 0.84147 would be rounded twice: to 0.8415 and then to 0.842
_BLUE, _ORANGE = "#1f5fae", "#b4530d"
_BACKGROUND = {"light": "#ffffff", "dark": "#0f0f15"}
_OUTLINE_COLOUR = {"light": "#1c1c28", "dark": "#f2f3f8"}
_FORMULA = (
    "(datum.dimension % 2 ? 'cos(' : 'sin(') + datum.position + ' / 10000^(' + datum.even + '/{d})) = '"
    " + (datum.dimension % 2 ? 'cos ' : 'sin ')"
    " + format(datum.position / pow(10000, datum.even / {d}), '.4f') + ' = ' + format(datum.value, '.3f')"
)


def encoding(
    name: str, vectors: Floats, labels: Sequence[str], /, *, position: int, pair: int, title: str, alt: str
) -> None:
    """Draw a heatmap of numbers from −1 (blue) to 1 (orange).

    Args:
        name: Streamlit key of the chart.
        vectors: [position, d_model].
        labels: Labels of the tokens at the first positions.
        position: Index of the outlined row.
        pair: Index of the outlined pair of columns.
        title: Title of the chart.
        alt: Description of the picture.
    """
    d = vectors.shape[1]
    rows = [
        {
            "position": row,
            "token": labels[row] if row < len(labels) else "–",
            "dimension": column,
            "value": value,
        }
        for row, numbers in enumerate(vectors.round(_DIGITS).tolist())
        for column, value in enumerate(numbers)
    ]
    theme = "dark" if st.context.theme.type == "dark" else "light"
    across, down = (_axis(field, size) for field, size in (("dimension", d), ("position", len(vectors))))
    colour: dict[str, Any] = {
        "field": "value",
        "type": "quantitative",
        "scale": {
            "domain": [-1, 0, 1],
            "range": [_BLUE, _BACKGROUND[theme], _ORANGE],
            "interpolate": "rgb",
        },
    }
    legend = {"orient": "top", "title": None, "values": [-1, 1], "format": "d"}
    fill: dict[str, Any] = {**colour, "legend": legend}
    stroke: dict[str, Any] = {**colour, "legend": None}
    # The stroke closes gaps between cells. 4,096 cells are too many for screen readers.
    cells = {"type": "rect", "strokeWidth": 0.6, "aria": False}
    tooltip = [{"field": field, "type": "nominal"} for field in ("position", "token", "dimension", "formula")]
    outline = {"type": "rect", "filled": False, "strokeWidth": 2, "stroke": _OUTLINE_COLOUR[theme]}
    columns = [{"dimension": 2 * pair}, {"dimension": 2 * pair + 1}]
    st.vega_lite_chart(
        spec={
            "description": f"{title}. {alt}",
            "width": "container",
            "height": 250 if TEACHER.get(False) else "container",  # 350 pixels, or 230 on phones: lesson.css
            "layer": [
                {
                    "data": {"values": rows},
                    "transform": [
                        {"calculate": "datum.dimension - datum.dimension % 2", "as": "even"},
                        {"calculate": _FORMULA.format(d=d), "as": "formula"},
                    ],
                    "mark": cells,
                    "encoding": {
                        "x": across,
                        "y": down,
                        "fill": fill,
                        "stroke": stroke,
                        "tooltip": tooltip,
                    },
                },
                {"data": {"values": [{"position": position}]}, "mark": outline, "encoding": {"y": down}},
                {"data": {"values": columns}, "mark": outline, "encoding": {"x": across}},
            ],
            "config": config(2),
        },
        width="stretch",
        height="content" if TEACHER.get(False) else "stretch",
        key=name,
    )


def _axis(field: str, size: int) -> dict[str, Any]:
    ticks = {"values": list(range(0, size, 8)), "labelAngle": 0, "grid": False}
    return {"field": field, "type": "ordinal", "scale": {"padding": 0}, "axis": ticks}
