"""Whether the weights of another layer, or of another head, would have told more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from attnviz.analysis.rank_correlation import by_chance
from attnviz.heads.beyond_weights import (
    HEAD_WEIGHTS,
    LAYER_NORMS,
    LAYER_WEIGHTS,
    NORMS_AROUND,
    OCCLUSION,
    Found,
    agreements,
)
from attnviz.trace import Floats, Mask
from attnviz.ui.components.curves import Axis, Line, curves
from attnviz.ui.components.head_map import head_map
from attnviz.ui.heads import choosing
from attnviz.ui.heads.beyond_weights.choices import ENOUGH, Chosen
from attnviz.ui.heads.beyond_weights.comparison import work_of

_CHANCE = 0.05  # how often chance alone goes as far as `by_chance`

_LINES = {
    LAYER_WEIGHTS: Line("mean weights", (), (), marker="circle", colour="weights"),
    LAYER_NORMS: Line("norms", (), (), dash="dash", marker="square", colour="value"),
    NORMS_AROUND: Line("norms after Add & Norm", (), (), dash="dot", marker="diamond", colour="key"),
}


def heads(chosen: Chosen) -> None:
    """Draw the agreement of every head, once it is known."""
    with st.container(border=True, height="stretch"):
        st.subheader("Would another head have told more?", anchor=False)
        if known := _known(chosen):
            _heads(chosen, *known)


def layers(chosen: Chosen) -> None:
    """Draw the agreement of every layer, once it is known."""
    with st.container(border=True, height="stretch"):
        st.subheader("Would another layer?", anchor=False)
        if known := _known(chosen):
            _layers(*known)


def _known(chosen: Chosen) -> tuple[Found, Mask] | None:
    """What was found and which tokens are ranked, or a word why there is nothing to draw."""
    latest = work_of(chosen).latest
    if latest is None or not (OCCLUSION in latest.found.values or latest.finished):
        st.markdown("This is drawn when words have been left out.")
    elif OCCLUSION not in latest.found.values:
        st.markdown("In this model no word can be left out, so there is nothing to agree with.")
    elif chosen.counted(latest.found).sum() < ENOUGH:
        st.markdown("Too few tokens are ranked: they have too few orders.")
    elif np.isnan(agreements(latest.found, HEAD_WEIGHTS, chosen.counted(latest.found))).all():
        st.markdown("Here the ranked tokens have no order: one is like the other.")
    else:
        return latest.found, chosen.counted(latest.found)
    return None


def _heads(chosen: Chosen, found: Found, counted: Mask) -> None:
    heads, count = agreements(found, HEAD_WEIGHTS, counted), int(counted.sum())
    layer, head = np.unravel_index(int(np.nanargmax(heads)), heads.shape)
    far = int((np.abs(heads) >= by_chance(count)).sum())
    st.markdown(
        f"Of {heads.size} heads, the weights of **{layer + 1}-{head + 1}** order the {count} tokens most "
        f"like leaving them out does (ρ = {heads[layer, head]:.2f}). But so many heads have many chances: "
        f"{far} of them reach ±{by_chance(count):.2f}, and {_CHANCE * heads.size:.0f} would by chance alone."
    )
    head_map(
        "agreement of heads",
        title="ρ of each head’s weights with leaving words out",
        values=heads,
        texts=[_signed(value) for value in heads.ravel().tolist()],
        printed=[_signed(value, 1) for value in heads.ravel().tolist()],
        low=(-1.0, "−1"),
        high=(1.0, "1"),
        kind="diverging",
        selected=(chosen.layer + 1, chosen.head + 1),
        on_pick=lambda layer, head: choosing.open_head(layer - 1, head - 1),
    )


def _layers(found: Found, counted: Mask) -> None:
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
    return f"layer {layer + 1} (ρ = {_signed(each[layer])})"


def _signed(number: float, digits: int = 2) -> str:
    return "–" if np.isnan(number) else f"{number:z.{digits}f}".replace("-", "−")
