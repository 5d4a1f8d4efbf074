"""The change of each token's output by the edits, as an angle."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.app.components.token_bars import Bar, token_bars
from attnviz.app.heads.intervene import ranking
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.heads.intervene.computed import Effect
from attnviz.app.heads.intervene.ranking import angle
from attnviz.experiments.ablation import angles

_MAX_BARS = 24  # with more tokens, only the selected one and those with the largest changes are drawn


def show(chosen: Intervention, found: Effect) -> None:
    """Draw the change of the selected token's output, and the median change as a baseline."""
    cosine_change = float(ranking.cosine_changes(chosen, found.distances)[0, chosen.query])
    change = "does not change"
    if cosine_change:
        change = f"changes by **{angle(cosine_change)}**"
    st.markdown(f"The output of {chosen.token} {change}. {_median_head(chosen)}")


def bars(chosen: Intervention, found: Effect) -> None:
    """Draw the angles of all outputs as bars."""
    moved = ranking.cosine_changes(chosen, found.distances)[0]
    shown = sorted(range(len(moved)), key=lambda at: (at != chosen.query, -moved[at]))[:_MAX_BARS]
    sizes = angles(moved) / (angles(moved.max()) or 1.0)
    rows: list[Bar] = [
        {
            "number": chosen.queries[at].number,
            "label": chosen.queries[at].label,
            "size": float(np.clip(sizes[at], 0, 1)),
            "written": angle(float(moved[at])),
            "hint": f"1 − cosine of this angle: {moved[at]:.4f}",
            "marked": at == chosen.query,
        }
        for at in sorted(shown)
    ]
    some = f"; {len(shown)} of {len(moved)} tokens" if len(shown) < len(moved) else ""
    title = f"Change of each token’s output, as an angle (bars: relative to the largest){some}"
    token_bars("moved", title=title, bars=rows)


def _median_head(chosen: Intervention) -> str:
    """Return a sentence on the median change over all heads, ablated one at a time; "" if it is not known."""
    latest = ranking.job(chosen, None).latest
    if latest is None or not latest.finished:
        return ""
    size = ranking.sizes(chosen, latest.found.distances)
    return f"Median of {len(size)} heads, ablated one at a time: **{angle(float(np.median(size)))}**."
