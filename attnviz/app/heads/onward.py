"""From a token of a sentence to what a head does with it on Explore."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.state.choice import option
from attnviz.app.state.choices import HEAD, KIND, LAYER, MODEL, QUERY, TEXT
from attnviz.capture import loading


def explore_token(chosen: HeadSelection, text: str, place: int, label: str) -> None:
    """Draw the way to Explore, where the head is open and the token at this place, from 0, is followed."""
    st.page_link(
        "pages/explore.py", label=label, icon=":material/grid_view:", query_params=_at(chosen, text, place)
    )


def _at(chosen: HeadSelection, text: str, place: int) -> dict[str, str]:
    """The same for the token at a place, from 0."""
    shown = DisplayTokens(loading.tokens(chosen.entry.name, text), text)
    index = shown.index_of(place)
    assert index is not None  # noqa: S101 - nothing is hidden; for the type checker
    return {
        MODEL.name: chosen.entry.name,
        TEXT.name: text,
        **({KIND.name: chosen.kind} if len(chosen.entry.kinds) > 1 else {}),
        LAYER.name: str(chosen.layer + 1),
        HEAD.name: str(chosen.head + 1),
        QUERY.name: option(shown.groups[index]),
    }
