"""How long the parts of each layer are, and how far a token's vector has turned from its embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from attnviz.figures.heatmap import escaped
from attnviz.trace import Floats

# Shades that stand out on a light and on a dark page; every line also has its own dash and marker.
STREAM, ATTENTION, FEED_FORWARD, OTHERS = "#8a8a99", "#8b5cf6", "#0891b2", "rgba(138, 138, 153, 0.4)"

_MARGIN = {"l": 10, "r": 10, "t": 10, "b": 10}
_HEIGHT = 360


def lengths(came_in: Floats, attention: Floats, feed_forward: Floats) -> go.Figure:
    """One token's vector in front of each layer, and the two updates that the layer adds.

    Args:
        came_in, attention, feed_forward: their lengths, [layer].
    """
    figure = go.Figure(
        [
            _line(came_in, "vector that comes in", STREAM, "solid", "circle"),
            _line(attention, "attention's update", ATTENTION, "dash", "square"),
            _line(feed_forward, "feed-forward's update", FEED_FORWARD, "dot", "diamond"),
        ]
    )
    figure.update_layout(
        xaxis={"title": {"text": "layer"}, "dtick": 1},
        yaxis={"title": {"text": "length"}, "rangemode": "tozero"},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin=_MARGIN,
        height=_HEIGHT,
    )
    return figure


def similarities(cosines: Floats, names: Sequence[str]) -> go.Figure:
    """The cosine between each token's vector after every layer and its embedding.

    Args:
        cosines: [token, layer + 1]; the first token's line stands out, the others are faint.
        names: of the tokens.
    """
    after = list(range(cosines.shape[1]))
    others = [
        go.Scatter(
            x=after,
            y=line,
            mode="lines",
            line={"color": OTHERS, "width": 1.5},
            name=escaped(name),
            showlegend=False,
            hovertemplate="after layer %{x}: <b>%{y:.2f}</b>",
        )
        for line, name in zip(cosines[1:], names[1:], strict=True)
    ]
    chosen = go.Scatter(
        x=after,
        y=cosines[0],
        mode="lines+markers+text",
        line={"color": ATTENTION, "width": 3},
        marker={"size": 9},
        text=[f"{cosine:.2f}".replace("-", "−") for cosine in cosines[0]],
        textposition="top right",
        cliponaxis=False,
        name=escaped(names[0]),
        showlegend=False,
        hovertemplate="after layer %{x}: <b>%{y:.2f}</b>",
    )
    figure = go.Figure([*others, chosen])
    low = min(0.0, float(cosines.min()))
    figure.update_layout(
        xaxis={"title": {"text": "after layer (0: the embedding)"}, "dtick": 1},
        yaxis={"title": {"text": "cosine to the embedding"}, "range": [low - 0.03, 1.1]},
        margin=_MARGIN,
        height=_HEIGHT,
    )
    return figure


def _line(values: Floats, name: str, colour: str, dash: str, symbol: str) -> go.Scatter:
    line: dict[str, Any] = {"color": colour, "width": 2.5, "dash": dash}
    return go.Scatter(
        x=list(range(1, len(values) + 1)),
        y=values,
        mode="lines+markers",
        line=line,
        marker={"size": 9, "symbol": symbol},
        name=name,
        hovertemplate="layer %{x}: <b>%{y:.2f}</b>",
    )
