"""From the open head to the tools that say more about it, with its sentence and its token."""

from __future__ import annotations

import streamlit as st

from attnviz.app.caches import View
from attnviz.app.explore.choices import Heads
from attnviz.app.explore.linking import Tokens
from attnviz.app.heads.contents import TOOLS
from attnviz.app.state import link
from attnviz.app.state.choices import HEAD, KIND, LAYER, MODEL, QUERY, TEXT
from attnviz.capture.model import ModelInput

_ASKED = {
    "intervene": "Silence it",
    "behaviour": "On many sentences",
    "plane": "Its queries and keys in a plane",
}
"""What each of these tools answers about one head."""


def draw(view: View, heads: Heads, tokens: Tokens) -> None:
    """Draw the links; the tools read one text alone."""
    if view.given != ModelInput(view.given.text):
        return
    along = [
        (MODEL.name, view.model),
        (TEXT.name, view.given.text),
        (LAYER.name, str(heads.layer)),
        (HEAD.name, str(heads.head)),
        *link.along(KIND),
    ]
    # Where pieces are merged, a word is no token that the tools know.
    if tokens.pair and not view.merge and view.changed is None:
        along.append((QUERY.name, tokens.queries[tokens.pair.query]))
    with st.popover("More about this head"):
        for tool in TOOLS:
            if tool.name in _ASKED:
                st.page_link(
                    f"pages/{tool.name}.py", label=_ASKED[tool.name], icon=tool.icon, query_params=along
                )
