"""One line of links from a head to the other tools."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.app.heads.contents import TOOLS
from attnviz.app.state.choices import EDITS
from attnviz.text import head_name
from attnviz.trace import Kind

_ANSWERS = {
    "intervene": "See whether head {} matters: ablate it",
    "score_heads": "What else does head {} do?",
    "find": "Similar tokens in head {}",
}
"""Label of each tool's link for a head."""


def draw(kind: Kind, layer: int, head: int, along: Sequence[tuple[str, str]]) -> None:
    """Draw the links from a head to the tools; only Intervene's, followed, ablates it.

    `layer` and `head` count from 0; `along` has further parameters of the links.
    """
    name = head_name(layer, head)
    icons = {tool.name: tool.icon for tool in TOOLS}
    for there, answer in _ANSWERS.items():
        asked = [(EDITS.name, f"{kind} {name}")] if there == "intervene" else []
        st.page_link(
            f"pages/{there}.py",
            label=answer.format(name),
            icon=icons[there],
            query_params=[*along, *asked],
        )
