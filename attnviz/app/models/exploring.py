"""The way from a model to the page that shows its attention."""

from __future__ import annotations

import streamlit as st

from attnviz.app.state.choices import MODEL
from attnviz.models.catalogue import Entry


def explore_with(entry: Entry) -> None:
    """Draw the link that opens a model on the page that can show it."""
    page = "pages/pictures.py" if entry.sees else "pages/explore.py"
    st.page_link(
        page,
        label="Explore with it",
        icon=":material/arrow_forward:",
        icon_position="right",
        query_params={MODEL.name: entry.name},
    )
