"""Whether the weights of another layer, or of another head, would have told more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from attnviz.analysis.rank_correlation import critical_value, rounded_up
from attnviz.app import controls
from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.components.head_map import head_map
from attnviz.app.heads.beyond_weights.choices import TokenSelection, span
from attnviz.app.heads.beyond_weights.comparison import job_of
from attnviz.experiments.beyond_weights import (
    HEAD_WEIGHTS,
    LAYER_NORMS,
    LAYER_WEIGHTS,
    NORMS_AROUND,
    MeasuredToken,
    agreements,
)
from attnviz.text import decimal
from attnviz.trace import Floats, Mask

_LINES = {
    LAYER_WEIGHTS: Line("mean weights", (), (), marker="circle", colour="weights"),
    LAYER_NORMS: Line("norms", (), (), dash="dash", marker="square", colour="value"),
    NORMS_AROUND: Line("norms after Add & Norm", (), (), dash="dot", marker="diamond", colour="key"),
}


def draw(chosen: TokenSelection) -> None:
    """Draw the agreement of every head and of every layer, once it is known."""
    if known := _known(chosen):
        left, right = st.columns(2, gap="large")
        with left:
            _heads(chosen, known[2], int(known[1].sum()))
        with right:
            _layers(*known[:2])


def _known(chosen: TokenSelection) -> tuple[MeasuredToken, Mask, Floats] | None:
    """What was found, which tokens are ranked, and how heads agree; or a word why nothing is drawn."""
    latest = job_of(chosen).latest
    if latest is None or not (latest.found.left_out or latest.finished):
        st.markdown("This is drawn when words have been left out.")
    elif not latest.found.left_out:
        st.markdown("In this model no word can be left out, so there is nothing to agree with.")
    elif critical_value(int((counted := chosen.counted(latest.found)).sum())) is None:
        st.markdown("Too few tokens are ranked: chance alone gives even their very order too often.")
    elif np.isnan((each := agreements(latest.found, HEAD_WEIGHTS, counted)).min(axis=0)).all():
        st.markdown("Here the ranked tokens have no order: one is like the other.")
    else:
        return latest.found, counted, each
    return None


def _heads(chosen: TokenSelection, each: Floats, count: int) -> None:
    lowest, highest = each.min(axis=0), each.max(axis=0)
    head_map(
        "agreement of heads",
        title="lowest agreement of each head’s weights with leaving words out",
        values=lowest,
        texts=list(map(span, lowest.ravel().tolist(), highest.ravel().tolist())),
        printed=[decimal(value, 1) for value in lowest.ravel().tolist()],
        low=(-1.0, "−1"),
        high=(1.0, "1"),
        kind="diverging",
        selected=(chosen.layer, chosen.head),
        on_pick=controls.open_head,
    )
    bound = critical_value(count, lowest.size)
    level = "higher than 1" if bound is None else f"|ρ| = {rounded_up(bound)}"
    st.caption(f"Chance level for {lowest.size} heads and {count} tokens: {level} (Bonferroni).")


def _layers(found: MeasuredToken, counted: Mask) -> None:
    lines = []
    for measure, line in _LINES.items():
        if measure in found.values:
            each = agreements(found, measure, counted)
            lowest, highest = each.min(axis=0), each.max(axis=0)
            x = np.arange(1, len(lowest) + 1)
            lines.append(replace(line, x=x, y=each.mean(axis=0), low=lowest, high=highest, band=True))
    about = "Lines: mean over the ways of leaving a word out. Bands: lowest to highest."
    curves(
        "agreement-by-layer",
        lines,
        title="Agreement with leaving words out, layer by layer",
        across=Axis("layer", at="layer {x}"),
        up=Axis("agreement", zero=True),
        height=160,
        alt=f"Spearman’s ρ of all heads of a layer with leaving words out, by layer. {about}",
        about=about,
    )
    st.caption(about)
