"""The grammar: the best head of each relation, and all heads for one."""

from __future__ import annotations

import streamlit as st

from attnviz.ui.heads.pronouns import choices, computing, grammar
from attnviz.ui.heads.pronouns.choices import Chosen
from attnviz.ui.heads.pronouns.computing import runs
from attnviz.ui.heads.working import working


def draw(chosen: Chosen) -> None:
    """Draw the sections; while the sentences are read, they stream."""
    grammar.introduce()
    with st.container(horizontal=True):
        looks = choices.which_way()
        sort = grammar.choose()
    work = computing.grammar(chosen)
    working(
        work,
        "Reading the sentences",
        "sentences",
        lambda latest: grammar.draw(chosen, latest, looks, sort, still=False) if runs(work) else None,
        key="grammar",
    )
    if not runs(work) and work.latest is not None:
        grammar.draw(chosen, work.latest, looks, sort, still=True)
