"""Where does a model look in a picture? Every patch is a token, and every head says where it looks."""

import streamlit as st

from attnviz.app import frame, question
from attnviz.app.page import page
from attnviz.app.pictures import choosing, looking

with page("pictures", "Pictures") as this:
    st.markdown(
        "A **vision transformer** cuts a picture into patches. Each patch is a token, as a word is in a "
        "text. Click a patch to see where it looks."
    )
    question.ask_below(question.form())
    chosen = choosing.choose()
    looking.tell_of_the_model(chosen)
    this.notices, problems = st.container(), st.container()
    with st.container(key=frame.PICTURE_FIRST_ON_PHONES):
        narrow, wide = st.columns([5, 7], gap="medium")
    with narrow.container(border=True):
        overview = st.container()
        # Drawn even while there is no picture: else the choices, and the address, would forget them.
        layer, head = choosing.choose_head(chosen)
        query = choosing.choose_patch(chosen)
    with problems:
        seen = choosing.see(chosen)
    if seen is not None:
        with overview:
            st.header(f"All {chosen.entry.layers * chosen.entry.heads} heads at a glance", anchor=False)
            pixels = looking.all_heads(seen, layer, head, query)
        with wide.container(border=True):
            st.header(f"Layer {layer} · Head {head}", anchor=False)
            looking.one_head(seen, pixels, layer, head, query)
            looking.save(seen.trace, chosen.own)
