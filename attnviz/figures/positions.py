"""Positions as curves: the paper's waves, similarities by distance, turned vectors, and falling biases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from attnviz.figures.heatmap import DIVERGING, escaped

Array = NDArray[Any]

HEIGHT = 380
MOST_NUMBERED = 24
DASHES = ("solid", "dash", "dot", "dashdot")
MARKERS = ("circle", "x", "diamond-open")


def encoding_picture(encoding: Array, labels: Sequence[str], chosen: int, pair: int) -> go.Figure:
    """Every position's vector as a row of colours.

    Args:
        encoding: [position, d_model].
        labels: what stands at the first positions.
        chosen: the position that is pointed out, from 0.
        pair: the pair of columns that is pointed out, from 0.
    """
    ticks = sorted({*range(0, len(encoding), max(10, len(encoding) // 10)), chosen})
    names = [f" ({escaped(label)})" for label in labels] + [""] * (len(encoding) - len(labels))
    figure = go.Figure(
        go.Heatmap(
            z=encoding,
            x=np.arange(1, encoding.shape[1] + 1),
            colorscale=DIVERGING,
            zmin=-1,
            zmid=0,
            zmax=1,
            text=np.repeat([names], encoding.shape[1], axis=0).T,
            hovertemplate="position %{y}%{text}, dimension %{x}<br><b>%{z:.3f}</b><extra></extra>",
            colorbar={"thickness": 12, "title": {"text": "value"}},
        )
    )
    figure.add_shape(type="rect", x0=0.5, x1=encoding.shape[1] + 0.5, y0=chosen - 0.5, y1=chosen + 0.5)
    figure.add_shape(type="rect", x0=2 * pair + 0.5, x1=2 * pair + 2.5, y0=-0.5, y1=len(encoding) - 0.5)
    figure.update_shapes(line={"color": "rgba(128, 128, 128, 0.9)", "width": 1.5})
    figure.update_layout(
        height=HEIGHT,
        margin=_MARGIN,
        xaxis={"title": {"text": "dimension"}, "showgrid": False},
        yaxis={
            "title": {"text": "position"},
            "autorange": "reversed",
            "tickvals": [at for at in ticks if at == chosen or abs(at - chosen) > len(encoding) // 20],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        },
    )
    return figure


def wave_picture(
    position: Array, sine: Array, cosine: Array, pair: int, chosen: int, by_distance: Array
) -> go.Figure:
    """Above, one pair of dimensions along the positions; below, what two positions' vectors have in common.

    Args:
        position, sine, cosine: [point], the pair's wave; markers stand at whole positions.
        pair: which, from 0.
        chosen: the position that is pointed out, from 0.
        by_distance: [distance], PE · PE.
    """
    figure = make_subplots(rows=2, vertical_spacing=0.22)
    for number, (name, wave) in enumerate((("sine", sine), ("cosine", cosine))):
        figure.add_scatter(
            x=position,
            y=wave,
            mode="lines+markers",
            name=name,
            line={"dash": DASHES[number]},
            marker={
                "symbol": MARKERS[number],
                "size": np.where(position % 1 == 0, 6, 0),
                "opacity": 1,
                "line": {"width": 0},
            },
            hovertemplate=f"{name} at %{{x}}: <b>%{{y:.3f}}</b><extra></extra>",
        )
    figure.add_vline(x=chosen, line={"dash": "dot", "width": 1.5, "color": "gray"}, row=1, col=1)
    figure.add_scatter(
        x=np.arange(len(by_distance)),
        y=by_distance,
        mode="lines+markers",
        marker={"size": 4},
        name="PE · PE",
        showlegend=False,
        hovertemplate="%{x} apart: <b>%{y:.2f}</b><extra></extra>",
        row=2,
        col=1,
    )
    figure.update_xaxes(title_text="position", row=1, col=1)
    figure.update_yaxes(title_text=f"pair {pair + 1}", row=1, col=1)
    figure.update_xaxes(title_text="distance between two positions", row=2, col=1)
    figure.update_yaxes(title_text="PE · PE", row=2, col=1)
    figure.update_layout(height=HEIGHT + 60, margin=_MARGIN, legend=_LEGEND)
    return figure


def table_picture(mean: Array, low: Array, high: Array) -> go.Figure:
    """How alike BERT's learned vectors are by distance: the mean, and from the least to the most alike.

    Args:
        mean, low, high: [distance].
    """
    distance = np.arange(len(mean))
    figure = go.Figure()
    figure.add_scatter(
        x=distance,
        y=high,
        mode="lines",
        name="most alike",
        line={"dash": "dot", "width": 1},
        hovertemplate=_HOVER,
    )
    figure.add_scatter(
        x=distance,
        y=low,
        mode="lines",
        name="least alike",
        line={"dash": "dash", "width": 1},
        fill="tonexty",
        hovertemplate=_HOVER,
    )
    figure.add_scatter(x=distance, y=mean, mode="lines", name="mean", line={"width": 3}, hovertemplate=_HOVER)
    return _plain(figure, "distance between two positions", "cosine")


def distance_picture(distances: Array, scores: Array, starts: Sequence[int], here: int) -> go.Figure:
    """A rotary score by distance, measured at several places: the curves lie on each other.

    Args:
        distances: [distance], key's place − query's place.
        scores: [start, distance].
        starts: where the query stood.
        here: the distance in the sentence.
    """
    figure = go.Figure()
    for number, (start, line) in enumerate(zip(starts, scores, strict=True)):
        figure.add_scatter(
            x=distances,
            y=line,
            mode="lines" if number == 0 else "markers",
            name=f"query at {start}",
            marker={"symbol": MARKERS[number], "size": 5 + 4 * (number - 1)},
            hovertemplate=f"query at {start}, key %{{x}} on: <b>%{{y:.3f}}</b><extra></extra>",
        )
    figure.add_vline(x=here, line={"dash": "dot", "width": 1.5, "color": "gray"})
    return _plain(figure, "key's place − query's place", "score")


def turning_picture(turned: Array, labels: Sequence[str], chosen: int) -> go.Figure:
    """One pair of a query's numbers as a point in the plane, turned further at each place of the text.

    Args:
        turned: [position, 2].
        labels: what stands at each position.
        chosen: where the query stands, from 0.
    """
    radius = float(np.hypot(*turned[0]))
    circle = np.linspace(0, 2 * np.pi, 181)
    figure = go.Figure()
    figure.add_scatter(
        x=radius * np.cos(circle),
        y=radius * np.sin(circle),
        mode="lines",
        line={"width": 1, "color": "rgba(128, 128, 128, 0.6)"},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_scatter(
        x=turned[:, 0],
        y=turned[:, 1],
        mode="markers+text",
        text=[str(place) if len(turned) <= MOST_NUMBERED else "" for place in range(len(turned))],
        textposition="top center",
        customdata=[f"{place} ({escaped(label)})" for place, label in enumerate(labels)],
        name="at another place",
        hovertemplate="at position %{customdata}: (%{x:.3f}, %{y:.3f})<extra></extra>",
    )
    figure.add_scatter(
        x=[0, turned[chosen, 0]],
        y=[0, turned[chosen, 1]],
        mode="lines+markers",
        marker={"symbol": ["circle", "diamond"], "size": [3, 12]},
        line={"width": 3},
        name="where it stands",
        hoverinfo="skip",
    )
    _plain(figure, "first number of the pair", "second number")
    figure.update_yaxes(scaleanchor="x", constrain="domain")
    figure.update_xaxes(constrain="domain")
    return figure


def bias_picture(by_distance: Array, chosen: int) -> go.Figure:
    """What ALiBi takes off a score by distance, one line for each head.

    Args:
        by_distance: [head, distance].
        chosen: the head that is pointed out, from 0.
    """
    figure = go.Figure()
    for head, line in enumerate(by_distance):
        figure.add_scatter(
            y=line,
            mode="lines",
            name=f"head {head + 1}",
            line={"width": 4 if head == chosen else 1.5, "dash": DASHES[head % len(DASHES)]},
            hovertemplate=f"head {head + 1}, %{{x}} back: <b>%{{y:.3f}}</b><extra></extra>",
        )
    return _plain(figure, "distance back from the query to the key", "added to the score")


_MARGIN = {"l": 10, "r": 10, "t": 20, "b": 10}
_LEGEND = {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0}
_HOVER = "%{x} apart: <b>%{y:.3f}</b>"


def _plain(figure: go.Figure, across: str, up: str) -> go.Figure:
    figure.update_layout(
        height=HEIGHT,
        margin=_MARGIN,
        legend=_LEGEND,
        xaxis={"title": {"text": across}},
        yaxis={"title": {"text": up}},
    )
    return figure
