"""The selected head, with and without the edits."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.sentence import strongest_keys
from attnviz.app import markdown
from attnviz.app.heads.intervene import computed
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of
from attnviz.app.state.choices import QUERY
from attnviz.app.weights_picture import weights_picture
from attnviz.text import isolated
from attnviz.trace import Floats
from attnviz.widgets.tokens import shown_tokens

_NOTE = "All heads have the same colour scale, with and without the changes."


def draw(chosen: Intervention) -> None:
    """Draw the head with and without the changes, and the token's largest weights in both."""
    name = chosen.name
    before = chosen.block.weights[chosen.head]
    after = computed.weights(chosen) if chosen.edits else None
    if after is None or not after.any() or np.array_equal(after, before):
        heading = f"Head {name}, without the changes" if chosen.edits else f"Head {name}"
        st.markdown(f"**{heading}**")
        _picture("before", chosen, before, heading)
        return
    st.markdown(
        f"Largest weights of {chosen.token}: {_largest_weights(chosen, before)}; "
        f"with the changes: {_largest_weights(chosen, after)}."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Unchanged**")
        _picture("before", chosen, before, f"Head {name}, unchanged")
    with right:
        st.markdown("**With the changes**")
        _picture("after", chosen, after, f"Head {name}, with the changes")


def _largest_weights(chosen: Intervention, weights: Floats) -> str:
    """Describe a token's largest weights, in Markdown: "`dog` **66 %**, `road` **12 %**"."""
    if not weights[chosen.query].any():
        return "all **0 %**"
    return markdown.shares(strongest_keys(weights, chosen.query, chosen.queries, chosen.keys))


def _picture(which: str, chosen: Intervention, weights: Floats, heading: str) -> None:
    weights_picture(
        f"{which} view",
        np.where(chosen.block.mask, weights, np.nan)[None],
        shown_tokens(chosen.queries),
        shown_tokens(chosen.keys),
        view="lines",
        query=chosen.query if weights[chosen.query].any() else None,
        layer=chosen.layer + 1,
        heads=[chosen.head + 1],
        heading=heading,
        note=_NOTE,
        caption=f"“{isolated(chosen.given.text)}” · {lookup.display_name(chosen.entry)} · {heading}",
        filename=f"{file_name_of(lookup.display_name(chosen.entry))}-head{chosen.name}-{which}",
        on_pick=lambda query, _: None if query is None else QUERY.pick(chosen.queries[query]),
    )
