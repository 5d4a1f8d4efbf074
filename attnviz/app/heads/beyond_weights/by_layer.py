"""Whether the weights of another layer, or of another head, would have told more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from attnviz.analysis.rank_correlation import Chance, by_chance
from attnviz.app import controls
from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.components.head_map import head_map
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.heads.beyond_weights.comparison import job_of
from attnviz.experiments.beyond_weights import (
    HEAD_WEIGHTS,
    LAYER_NORMS,
    LAYER_WEIGHTS,
    NORMS_AROUND,
    OCCLUSION,
    MeasuredToken,
    agreements,
)
from attnviz.text import decimal, head_name
from attnviz.trace import Floats, Mask

_LINES = {
    LAYER_WEIGHTS: Line("mean weights", (), (), marker="circle", colour="weights"),
    LAYER_NORMS: Line("norms", (), (), dash="dash", marker="square", colour="value"),
    NORMS_AROUND: Line("norms after Add & Norm", (), (), dash="dot", marker="diamond", colour="key"),
}


def heads(chosen: TokenSelection) -> None:
    """Draw the agreement of every head, once it is known."""
    with st.container(border=True, height="stretch"):
        st.subheader("Would another head have told more?", anchor=False)
        if known := _known(chosen):
            _heads(chosen, *known)


def layers(chosen: TokenSelection) -> None:
    """Draw the agreement of every layer, once it is known."""
    with st.container(border=True, height="stretch"):
        st.subheader("Would another layer?", anchor=False)
        if known := _known(chosen):
            found, counted, _ = known
            _layers(found, counted)


def _known(chosen: TokenSelection) -> tuple[MeasuredToken, Mask, Chance] | None:
    """What was found, which tokens are ranked, and how far chance goes; or a word why nothing is drawn."""
    latest = job_of(chosen).latest
    if latest is None or not (OCCLUSION in latest.found.values or latest.finished):
        st.markdown("This is drawn when words have been left out.")
    elif OCCLUSION not in latest.found.values:
        st.markdown("In this model no word can be left out, so there is nothing to agree with.")
    elif (chance := by_chance(int(chosen.counted(latest.found).sum()))) is None:
        st.markdown("Too few tokens are ranked: chance alone gives even their very order too often.")
    elif np.isnan(agreements(latest.found, HEAD_WEIGHTS, chosen.counted(latest.found))).all():
        st.markdown("Here the ranked tokens have no order: one is like the other.")
    else:
        return latest.found, chosen.counted(latest.found), chance
    return None


def _heads(chosen: TokenSelection, found: MeasuredToken, counted: Mask, chance: Chance) -> None:
    heads, count = agreements(found, HEAD_WEIGHTS, counted), int(counted.sum())
    layer, head = np.unravel_index(int(np.nanargmax(heads)), heads.shape)
    far = int(chance.reached(heads).sum())
    by_luck = f"But {heads.size} heads have {heads.size} chances: ±{chance.bound:.2f} is reached by {far} of "
    by_luck += (
        f"them, and by {chance.frequency * heads.size:.1f} on average where there is nothing but chance."
    )
    st.markdown(
        f"Of {heads.size} heads, the weights of **{head_name(int(layer), int(head))}** order the {count} "
        f"tokens most like leaving them out does (ρ = {decimal(heads[layer, head])}). "
        + (by_luck if far else f"No head beats chance, for which it would take ±{chance.bound:.2f}.")
    )
    head_map(
        "agreement of heads",
        title="ρ of each head’s weights with leaving words out",
        values=heads,
        texts=[decimal(value) for value in heads.ravel().tolist()],
        printed=[decimal(value, 1) for value in heads.ravel().tolist()],
        low=(-1.0, "−1"),
        high=(1.0, "1"),
        kind="diverging",
        selected=(chosen.layer + 1, chosen.head + 1),
        on_pick=lambda layer, head: controls.open_head(layer - 1, head - 1),
    )


def _layers(found: MeasuredToken, counted: Mask) -> None:
    lines = []
    for measure, line in _LINES.items():
        if measure in found.values:
            each = agreements(found, measure, counted)
            lines.append(replace(line, x=np.arange(1, len(each) + 1), y=each))
    told = "; ".join(f"{line.label}: {_best(np.asarray(line.y))}" for line in lines)
    curves(
        "agreement of layers",
        lines,
        title="Agreement with leaving words out, layer by layer",
        across=Axis("layer"),
        up=Axis("ρ", zero=True),
        at="layer {x}",
        height=160,
        alt=f"Rank correlation with leaving words out, by layer. Best layers: {told}.",
        caption="Spearman’s ρ over the ranked tokens, for all heads of a layer together.",
        filename="agreement-by-layer",
    )
    st.markdown(f"With all heads of a layer together, the best layers are: {told}.")


def _best(each: Floats) -> str:
    if np.isnan(each).all():
        return "none"
    layer = int(np.nanargmax(each))
    return f"layer {layer + 1} (ρ = {decimal(each[layer])})"
