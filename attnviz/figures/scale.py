"""How the variance of q · k, the softmax's entropy and its gradient change with the size of the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from attnviz.trace import Floats

# Two of the roles' hues in shades that stand out on a light and on a dark page; every line also has its own
# dash and marker.
MEASURED, THEORY = "#7c6cf0", "#8a8a99"
_CHOSEN = {"color": THEORY, "width": 1.5, "dash": "dot"}


def variance_figure(sizes: Sequence[int], measured: Floats, errors: Floats, chosen: int) -> go.Figure:
    """The measured variances over d, both on logarithmic scales, and the line variance = d.

    Args:
        sizes: d of each measurement.
        measured: [size].
        errors: [size], standard errors; the bars are two of them long to each side.
        chosen: the d that is marked.
    """
    figure = go.Figure(
        [
            go.Scatter(
                x=list(sizes),
                y=list(sizes),
                mode="lines",
                name="theory: variance = d",
                line={"color": THEORY, "dash": "dash", "width": 2},
                hoverinfo="skip",
            ),
            go.Scatter(
                x=list(sizes),
                y=measured,
                error_y={"array": 2 * errors, "thickness": 1.5, "width": 4},
                mode="markers",
                name="measured ± 2 standard errors",
                marker={
                    "color": MEASURED,
                    "opacity": 1,
                    "size": [15 if size == chosen else 8 for size in sizes],
                    "symbol": ["diamond" if size == chosen else "circle" for size in sizes],
                },
                hovertemplate="d = %{x}<br>variance <b>%{y:.2f}</b> ± %{error_y.array:.2f}<extra></extra>",
            ),
        ]
    )
    figure.add_vline(x=chosen, line=_CHOSEN)
    figure.update_layout(
        xaxis=_sizes_axis(sizes),
        yaxis={"type": "log", "title": {"text": "variance of q · k"}, "dtick": 1},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        height=310,
    )
    return figure


def softmax_figure(sizes: Sequence[int], entropy: Floats, gradient: Floats, chosen: int) -> go.Figure:
    """Mean entropy and mean gradient of the softmax over d, without the scale and with it.

    Args:
        sizes: d of each column.
        entropy: [scale, size], in bits; first without the scale, then with it.
        gradient: [scale, size].
        chosen: the d that is marked.
    """
    figure = make_subplots(
        rows=1, cols=2, horizontal_spacing=0.12, subplot_titles=("Entropy, in bits", "Size of the gradient")
    )
    styles: tuple[dict[str, Any], ...] = (
        {"name": "without ÷ √d", "line": {"color": THEORY, "dash": "dash"}, "marker": {"symbol": "x"}},
        {"name": "with ÷ √d", "line": {"color": MEASURED}, "marker": {"symbol": "circle"}},
    )
    for column, values in enumerate((entropy, gradient), start=1):
        for style, line in zip(styles, values, strict=True):
            figure.add_trace(
                go.Scatter(
                    x=list(sizes),
                    y=line,
                    mode="lines+markers",
                    legendgroup=style["name"],
                    showlegend=column == 1,
                    hovertemplate="d = %{x}<br><b>%{y:.3f}</b><extra>%{fullData.name}</extra>",
                    **style,
                ),
                row=1,
                col=column,
            )
    figure.add_vline(x=chosen, line=_CHOSEN)
    figure.update_xaxes(_sizes_axis(sizes))
    figure.update_yaxes({"rangemode": "tozero"})
    figure.update_layout(
        margin={"l": 10, "r": 10, "t": 60, "b": 10},
        legend={"orientation": "h", "y": 1.12, "yanchor": "bottom", "x": 0},
        height=360,
    )
    return figure


def _sizes_axis(sizes: Sequence[int]) -> dict[str, Any]:
    return {
        "type": "log",
        "title": {"text": "d, entries of q and k"},
        "tickvals": list(sizes[::2]),
        "ticktext": [str(size) for size in sizes[::2]],
        "tickangle": 0,
        "showgrid": False,
    }
