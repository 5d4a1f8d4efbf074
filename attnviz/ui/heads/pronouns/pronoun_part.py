"""The pronouns: all heads, one of them, what it fails on, and the visitor's own pair."""

from __future__ import annotations

import streamlit as st

from attnviz.ui.heads.pronouns import all_heads, cases, choices, computing, one_head, own
from attnviz.ui.heads.pronouns.choices import Chosen
from attnviz.ui.heads.pronouns.computing import runs
from attnviz.ui.heads.working import working


def draw(chosen: Chosen) -> None:
    """Draw the sections; while the pairs are read, the map streams."""
    all_heads.introduce()
    looks = choices.who_looks(chosen)
    work = computing.verdicts(chosen)
    computing.begin(work, f"{chosen.part} {chosen.entry.name}")
    overview, head = st.container(), st.container()
    listed = st.container(border=True)
    with listed:
        which = cases.choose()
    with overview:
        working(
            work,
            "Reading the pairs",
            "pairs",
            lambda latest: all_heads.draw(chosen, latest, looks, still=False) if runs(work) else None,
            key="pronouns",
        )
    latest = None if runs(work) else work.latest
    if latest is not None:
        with overview:
            all_heads.draw(chosen, latest, looks, still=True)
            all_heads.left_out(latest.found)
        if latest.found.pairs:
            with head.container(border=True):
                one_head.draw(chosen, latest.found, looks)
            with listed:
                cases.draw(chosen, latest.found, looks, which)
    with st.container(border=True):
        own.draw(chosen, looks)
