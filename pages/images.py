"""Images: which patches does each patch attend to?"""

import streamlit as st

from attnviz.app import controls, frame, question
from attnviz.app.models.images import heads, selection
from attnviz.app.page import page

with page("images", "Images") as this:
    st.markdown(
        "A **vision transformer** cuts an image into patches. Each patch is a token, as a word is in a text. "
        "Click a patch to see which patches it attends to."
    )
    question.draw_below(question.form())
    chosen = selection.choose()
    heads.describe_model(chosen)
    this.notices, problems = st.container(), st.container()
    with st.container(key=frame.PICTURE_FIRST_ON_PHONES):
        narrow, wide = st.columns([5, 7], gap="medium")
    with narrow.container(border=True):
        overview = st.container()
        # Drawn even while there is no picture: else the choices, and the address, would forget them.
        layer, head = controls.head(chosen.entry.layers, chosen.entry.heads, (1, 1))
        query = selection.choose_patch(chosen)
    with problems:
        trace = selection.forward(chosen)
    if trace is not None:
        with overview:
            st.header(f"All {chosen.entry.layers * chosen.entry.heads} heads at a glance", anchor=False)
            pixels = heads.all_heads(chosen, layer, head, query)
        with wide.container(border=True):
            st.header(f"Layer {layer + 1} · Head {head + 1}", anchor=False)
            heads.one_head(chosen, trace, pixels, layer, head, query)
            selection.save(chosen, trace)
