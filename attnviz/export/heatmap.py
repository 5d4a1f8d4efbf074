"""An interactive heatmap of one head: queries in rows, keys in columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from attnviz.analysis.display_tokens import faint, hidden_note
from attnviz.text import decimal, isolated, percent, signed_percent
from attnviz.trace import Floats

Kind = Literal["sequential", "diverging"]
Unit = Literal["percent", "signed percent", "score"]

MAX_TICKS = 32
MAX_CELLS_WITH_GAPS = 48
MAX_TICK_LENGTH = 16
CAPTION_WIDTH = 72

# Blue and orange are distinguishable with any colour vision, and contrast with white and black.
# Near zero the colour fades into the background of either theme; a tint distinguishes 0 from masked cells.
DIVERGING = (
    (0.0, "rgba(38, 125, 201, 1)"),
    (0.5, "rgba(128, 128, 128, 0.12)"),
    (1.0, "rgba(222, 92, 8, 1)"),
)

_HOVER = {
    "percent": "%{customdata:.1f} %",
    "signed percent": "%{customdata:+.1f} points",
    "score": "%{customdata:.3f}",
}
_FORMATS: dict[Unit, Callable[[float], str]] = {
    "percent": percent,
    "signed percent": signed_percent,
    "score": decimal,
}
_BAR_TITLE = {"percent": "weight", "signed percent": "change", "score": "score"}


def heatmap(
    values: Floats,
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    kind: Kind = "sequential",
    unit: Unit = "percent",
    high: float | None = None,
    caption: str = "",
    shown_share: Floats | None = None,
    hidden: str = "",
) -> go.Figure:
    """Return a Plotly heatmap for `st.plotly_chart(…, theme="streamlit")`, which applies the page's colours.

    The colour scale is a square-root scale, as in `analysis.picture`.

    Two pairs of axes overlap: the visible axes have at most `MAX_TICKS` labels each; the hidden axes have
    all labels, for hover texts.

    Args:
        values: [query, key], shown values; −inf and NaN are blank.
        query_labels, key_labels: Labels of the rows and of the columns.
        kind: Colour scale: "sequential" (from 0) or "diverging" (around 0).
        unit: "percent" and "signed percent" for fractions, "score" for plain numbers.
        high: Maximum of the colour scale, with minimum 0 or, if diverging, −`high`; None for the largest
            absolute value.
        caption: Caption of the picture, included in saved files.
        shown_share: [query], fraction of each row's weight on shown keys, if rows are rescaled; else None.
        hidden: Description of the hidden columns.
    """
    factor = np.float32(1 if unit == "score" else 100)
    cells = (np.where(np.isfinite(values), values, np.nan) * factor).astype(np.float32)
    shown_share = np.ones(len(cells), np.float32) if shown_share is None else shown_share
    notes = [hidden_note(float(share), hidden) for share in shown_share]
    query_labels = [f"{label} *" if note else label for label, note in zip(query_labels, notes, strict=True)]
    shown = faint(cells, shown_share)
    maximum = float(np.nanmax(np.abs(shown), initial=0.0)) if high is None else high * float(factor)
    diverges = kind == "diverging"
    colours = {"zmid": 0, "colorscale": DIVERGING} if diverges else {}
    ticks = np.array([-1, -0.5, 0, 0.5, 1] if diverges else [0, 0.25, 0.5, 0.75, 1]) * (maximum or 1) ** 0.5
    gap = 1 if max(values.shape) <= MAX_CELLS_WITH_GAPS else 0
    figure = go.Figure(
        [
            go.Heatmap(
                z=np.sign(shown) * np.sqrt(np.abs(shown)),
                customdata=cells,
                text=[[f"<br>{escaped(note)}" if note else ""] * cells.shape[1] for note in notes],
                **colours,
                zmin=ticks[0],
                zmax=ticks[-1],
                xgap=gap,
                ygap=gap,
                hoverongaps=False,
                hovertemplate=f"%{{y}} → %{{x}}<br><b>{_HOVER[unit]}</b>%{{text}}<extra></extra>",
                colorbar={
                    "title": {"text": f"{_BAR_TITLE[unit]}<br>(square-root scale)"},
                    "tickvals": ticks,
                    "ticktext": [_FORMATS[unit](float(tick * abs(tick) / factor)) for tick in ticks],
                    "thickness": 14,
                },
            ),
            # Plotly draws an axis only if it has a trace.
            go.Scatter(x=[None], y=[None], xaxis="x2", yaxis="y2", hoverinfo="skip", showlegend=False),
        ]
    )
    lines = wrap(caption, CAPTION_WIDTH)
    figure.update_layout(
        xaxis=_axis(key_labels),
        yaxis=_axis(query_labels) | {"autorange": "reversed"},
        xaxis2=_labelled_axis(key_labels, "to (key)") | {"overlaying": "x", "matches": "x"},
        yaxis2=_labelled_axis(query_labels, "from (query)") | {"overlaying": "y", "matches": "y"},
        margin={"l": 10, "r": 10, "t": 10 + 15 * len(lines), "b": 10},
        height=int(min(max(22 * values.shape[0] + 120, 320), 900)) + 15 * len(lines),
    )
    # The caption is above the cells, because labels below can have any angle.
    figure.add_annotation(
        text="<br>".join(escaped(line) for line in lines),
        font={"size": 11},
        align="left",
        showarrow=False,
        xref="paper",
        x=0,
        xanchor="left",
        yref="paper",
        y=1,
        yanchor="bottom",
    )
    return figure


def heatmap_alt(
    values: Floats,
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    unit: Unit = "percent",
    shown_share: Floats | None = None,
) -> str:
    """Return an alternative text: the size of the heatmap, and its cell with the strongest colour.

    Args:
        values: [query, key], shown values.
        query_labels, key_labels, unit, shown_share: As in `heatmap`.
    """
    shown = values if shown_share is None else faint(values, shown_share)
    size = np.where(np.isfinite(shown), np.abs(shown), -1)
    query, key = divmod(int(size.argmax()), len(key_labels))
    value = float(values[query, key])
    measure, formatted = {
        "percent": ("weights", f"{100 * value:.0f} %"),
        "signed percent": ("changes of the weights", f"{100 * value:+.0f} percentage points"),
        "score": ("scores", f"{value:.2f}"),
    }[unit]
    pair = f"“{isolated(query_labels[query])}” → “{isolated(key_labels[key])}”"
    return (
        f"Heatmap of the {measure} between {len(query_labels)} queries and {len(key_labels)} keys. "
        f"The largest: {pair}, {formatted.replace('-', '−')}."
    )


def config(filename: str) -> dict[str, Any]:
    """Return the `config` for `st.plotly_chart`: SVG downloads with this name, no TeX in labels."""
    return {
        "displaylogo": False,
        "typesetMath": False,
        "toImageButtonOptions": {"format": "svg", "filename": filename},
    }


def escaped(label: str) -> str:
    """Escape a label: Plotly interprets some HTML tags, entities, and $TeX$ in text."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;")):
        label = label.replace(character, entity)
    return label


def _axis(labels: Sequence[str]) -> dict[str, Any]:
    """Return an axis with hidden labels; it is numeric, because category axes merge equal labels."""
    return {
        "type": "linear",
        "tickmode": "array",
        "tickvals": list(range(len(labels))),
        "ticktext": [escaped(isolated(label)) for label in labels],
        "showticklabels": False,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
    }


def _labelled_axis(labels: Sequence[str], title: str) -> dict[str, Any]:
    """Return an axis with at most `MAX_TICKS` labels, evenly spaced; long labels are truncated."""
    step = -(-len(labels) // MAX_TICKS)
    drawn = range(0, len(labels), step)
    return _axis(labels) | {
        "title": {"text": title},
        "tickvals": list(drawn),
        "ticktext": [escaped(isolated(_short(labels[index]))) for index in drawn],
        "showticklabels": True,
        "automargin": True,
    }


def _short(label: str) -> str:
    return label if len(label) <= MAX_TICK_LENGTH else label[: MAX_TICK_LENGTH - 1] + "…"
