"""An interactive scatter plot of the tokens' vectors."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from attnviz.analysis.pca import principal_components
from attnviz.export.heatmap import escaped
from attnviz.text import decimal, isolated, percent, plural
from attnviz.trace import Doubles, Floats

MAX_POINTS = 3_000
"""Maximum number of points in addition to the found tokens; each has its sentence as hover text."""

Vector = Literal["query", "key", "output"]

# Between the light and dark colours of attnviz/widgets/palette.js; contrast of 3 : 1 on both backgrounds.
_COLOURS: dict[Vector, str] = {"query": "#3b82f6", "key": "#ef4444", "output": "#16a34a"}
_WIDTH = 60  # characters per line of a sentence
_LINES = 3


class MapToken(NamedTuple):
    """Hover text of a token: its label and its sentence."""

    label: str
    sentence: str


def vector_map(
    vectors: NDArray[np.floating],
    tokens: Sequence[MapToken],
    found: Sequence[int],
    similarities: Sequence[float],
    wanted: Floats,
    label: str,
    vector: Vector,
) -> go.Figure:
    """Return a scatter plot of vectors by their first two principal components, for `st.plotly_chart`.

    Args:
        vectors: [token, d_head].
        tokens: [token], hover texts.
        found: Indices of the tokens found by the search, most similar first.
        similarities: Similarity of each found token.
        wanted: [d_head], the vector to search for; drawn projected onto the components of `vectors`.
        label: Label of the token with the vector `wanted`.
        vector: Kind of the vectors; sets their colour.
    """
    components = principal_components(vectors)
    points = components.project(vectors)
    others = np.setdiff1d(np.arange(len(tokens)), found)
    drawn = others[:: -(-len(others) // MAX_POINTS) or 1]
    count = plural(len(others), "other token")
    colour = _COLOURS[vector]
    chosen, name = components.project(wanted), escaped(isolated(label))
    figure = go.Figure(
        [
            _points(
                points[drawn],
                count if len(drawn) == len(others) else f"{len(drawn):,} of {count}",
                [_hover_text(*tokens[place]) for place in drawn],
                {"color": colour, "size": 5, "opacity": 0.3},
            ),
            _points(
                points[list(found)],
                f"{len(found)} most similar",
                [
                    f"{_hover_text(*tokens[place])}<br>similarity {decimal(similarity)}"
                    for place, similarity in zip(found, similarities, strict=True)
                ],
                {"color": colour, "size": 10, "line": {"color": "white", "width": 1}},
            ),
            _points(
                chosen[None],
                f"{name}, selected",
                [f"<b>{name}</b>, selected"],
                {
                    "color": "white",
                    "size": 20,
                    "symbol": "star-diamond",
                    "line": {"color": colour, "width": 3},
                },
            ),
        ]
    )
    x_title, y_title = (
        f"PC {nth} ({percent(part)} of the variance)" for nth, part in enumerate(components.explained, 1)
    )
    figure.update_layout(
        # Equal scales on both axes, so that distances are not distorted.
        xaxis={"title": {"text": x_title}, "zeroline": False, "constrain": "domain"},
        yaxis={"title": {"text": y_title}, "zeroline": False, "scaleanchor": "x", "constrain": "domain"},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "itemsizing": "constant"},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        height=520,
        hovermode="closest",
    )
    return figure


def _points(points: Doubles, name: str, texts: Sequence[str], marker: dict[str, Any]) -> go.Scattergl:
    """Return a scatter trace; `name` and `texts` must already be HTML-escaped."""
    x, y = points.T.astype(np.float32)
    return go.Scattergl(x=x, y=y, name=name, hovertext=texts, hoverinfo="text", mode="markers", marker=marker)


def _hover_text(label: str, sentence: str) -> str:
    lines = wrap(sentence, _WIDTH, max_lines=_LINES, placeholder=" …")
    return "<br>".join([f"<b>{escaped(isolated(label))}</b>", *(escaped(isolated(line)) for line in lines)])
