"""All heads at a glance: one small picture for each, and filters that find heads by what they do."""

from __future__ import annotations

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.behaviour import COUNTED, Behaviour
from attnviz.ui import caches, markdown
from attnviz.ui.caches import View
from attnviz.ui.components.atlas import atlas
from attnviz.ui.examples import Example
from attnviz.ui.explore import linking
from attnviz.ui.explore.choices import Heads, choose_heads, open_heads
from attnviz.ui.explore.linking import Tokens
from attnviz.ui.explore.published import Sent


def choose(view: View, example: Example | None) -> tuple[Heads, DeltaGenerator]:
    """Draw the title, the filters and the choice of heads; return the heads and the atlas' place."""
    layers, heads = caches.values(view).shape[:2]
    st.subheader(f"All {layers * heads} heads at a glance", anchor=False)
    names = [behaviour.name for behaviour in _behaviours(view)]
    if st.session_state.get("find") not in [*names, None]:
        # Another kind of attention may not have what was looked for.
        st.session_state["find"] = None
    if names:
        st.pills("Find heads that look at …", names, key="find", bind="query-params")
    place = st.container()
    return choose_heads(view, lambda: linking.clearest(view, example)), place


def draw(view: View, heads: Heads, tokens: Tokens, sent: Sent) -> None:
    """Draw the rule of the chosen filter, and the atlas."""
    layers, heads_total = caches.values(view).shape[:2]
    dimmed: list[int] = []
    for behaviour in _behaviours(view):
        if behaviour.name == st.session_state.get("find"):
            found = behaviour.found
            dimmed = np.flatnonzero(~found.ravel()).tolist()
            counted = f"**{found.sum()} of {found.size} heads.**"
            # A rule names special tokens, and these are whatever somebody's tokenizer calls them.
            rule = markdown.plain(behaviour.rule)
            st.markdown(f":small[{counted} {rule}{_note(view, behaviour.name)}]")
    atlas(
        "atlas",
        pixels=sent.pixels,
        layers=layers,
        heads=heads_total,
        selected={"layer": heads.layer, "heads": heads.all},
        dim=dimmed,
        facts=caches.facts(view),
        kind=caches.drawn(view).kind,
        on_pick=lambda layer, head: open_heads(layer, [head]),
        on_tokens=tokens.choose,
    )


def _note(view: View, name: str) -> str:
    """What one must know to see in the picture what the filter found."""
    notes = []
    if view.changed is not None:
        notes.append("This is about the first sentence.")
    if not view.hide and name not in COUNTED:
        notes.append("*Hide special tokens* shows it clearly.")
    return " ".join(["", *notes])


def _behaviours(view: View) -> tuple[Behaviour, ...]:
    return caches.found(view.model, view.given, view.kind, view.merge)
