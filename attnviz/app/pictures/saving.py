"""Take a picture's attention along: the link to this very view, and all numbers as a file."""

from __future__ import annotations

import io

import streamlit as st

from attnviz.app import caches
from attnviz.app.explore.file_names import file_name_of
from attnviz.app.page import draw_copy_link
from attnviz.app.state.choices import MODEL
from attnviz.trace import Trace


def draw(trace: Trace, own: bool) -> None:
    """Draw the buttons.

    Args:
        trace: of the picture on show.
        own: whether the picture is the visitor's, which no link can hold.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_copy_link([MODEL.name])
        st.download_button(
            "All heads (NPZ)",
            lambda: npz_of(trace),
            file_name=f"{file_name_of(caches.called(trace.model))}.npz",
            mime="application/zip",
            on_click="ignore",
            help="Every query, key, value, score and weight of this picture as the model computed them: for "
            "Python, attnviz.Trace.load or numpy.load.",
        )
    if own:
        st.markdown(
            ":small[The link holds the model, the head and the patch, and not your picture: whoever opens it "
            "uploads one there.]"
        )


def npz_of(trace: Trace) -> bytes:
    """The whole forward pass over a picture."""
    file = io.BytesIO()
    trace.save(file)
    return file.getvalue()
