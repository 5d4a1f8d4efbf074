"""All heads at a glance: one small picture for each, and filters that find heads by what they do."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.ui import caches
from attnviz.ui.caches import View
from attnviz.ui.components.atlas import atlas
from attnviz.ui.explore.choices import Heads, choose_heads
from attnviz.ui.explore.published import Sent


def choose(view: View) -> Heads:
    """Draw the title and the choice of layer and heads."""
    layers, heads = caches.values(view).shape[:2]
    st.subheader(f"All {layers * heads} heads at a glance", anchor=False)
    return choose_heads(layers, heads)


def draw(view: View, heads: Heads, sent: Sent) -> None:
    """Draw the filters and the atlas."""
    behaviours = {b.name: b for b in caches.found(view.model, view.text, view.merge)}
    name = st.pills("Find heads that look at …", list(behaviours), key="find", bind="query-params")
    layers, heads_total = caches.values(view).shape[:2]
    dimmed: list[int] = []
    if name:
        found = behaviours[name].found
        dimmed = np.flatnonzero(~found.ravel()).tolist()
        st.markdown(f":small[**{found.sum()} of {found.size} heads:** {behaviours[name].rule}]")
    atlas(
        "atlas",
        pixels=sent.pixels,
        layers=layers,
        heads=heads_total,
        selected={"layer": heads.layer, "heads": heads.all},
        dim=dimmed,
        facts=caches.facts(view),
        kind=caches.drawn(view).picture.kind,
        on_pick=_open,
    )


def _open(layer: int, head: int) -> None:
    st.session_state["layer"], st.session_state["head"] = layer, head
    st.session_state["also"] = []
