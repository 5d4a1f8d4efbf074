"""Where does a model look in a picture? Every patch is a token, and every head says where it looks."""

import streamlit as st

from attnviz.app import controls, frame, question
from attnviz.app.page import page
from attnviz.app.senses import pictures
from attnviz.app.senses.sense import forward, save

with page("pictures", "Pictures") as this:
    st.markdown(
        "A **vision transformer** cuts a picture into patches. Each patch is a token, as a word is in a "
        "text. Click a patch to see where it looks."
    )
    question.ask_below(question.form())
    chosen = pictures.choose_picture()
    pictures.tell_of_the_model(chosen)
    this.notices, problems = st.container(), st.container()
    with st.container(key=frame.PICTURE_FIRST_ON_PHONES):
        narrow, wide = st.columns([5, 7], gap="medium")
    with narrow.container(border=True):
        overview = st.container()
        # Drawn even while there is no picture: else the choices, and the address, would forget them.
        layer, head = controls.head(chosen.entry.layers, chosen.entry.heads, (1, 1))
        query = pictures.choose_patch(chosen)
    with problems:
        trace = forward(chosen)
    if trace is not None:
        with overview:
            st.header(f"All {chosen.entry.layers * chosen.entry.heads} heads at a glance", anchor=False)
            pixels = pictures.all_heads(chosen, layer, head, query)
        with wide.container(border=True):
            st.header(f"Layer {layer + 1} · Head {head + 1}", anchor=False)
            pictures.one_head(chosen, trace, pixels, layer, head, query)
            save(chosen, trace)
