"""Links from a head to the tools that examine it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.app.heads.contents import TOOLS
from attnviz.app.state.choices import EDITS
from attnviz.text import head_name
from attnviz.trace import Kind

_LABELS = {
    "intervene": "See whether head {} matters: ablate it",
    "score_heads": "What else does head {} do?",
    "find": "Similar tokens in head {}",
}
"""Labels of the links, by tool; {} is the name of the head."""


def draw(kind: Kind, layer: int, head: int, parameters: Sequence[tuple[str, str]]) -> None:
    """Draw the links from a head to the tools; the link to Intervene ablates the head.

    `layer` and `head` count from 0; `parameters` are further URL parameters.
    """
    name = head_name(layer, head)
    icons = {tool.name: tool.icon for tool in TOOLS}
    for page, label in _LABELS.items():
        edits = [(EDITS.name, f"{kind} {name}")] if page == "intervene" else []
        st.page_link(
            f"pages/{page}.py",
            label=label.format(name),
            icon=icons[page],
            query_params=[*parameters, *edits],
        )
