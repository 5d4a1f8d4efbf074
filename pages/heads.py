"""Heads at work: what they do over many sentences, and what the model does without them."""

import streamlit as st

from attnviz.ui import frame, links
from attnviz.ui.heads import contents

frame.require()
links.remember()
with st.container(width=1000):
    st.title("Heads at work", anchor=False)
    links.draw({})
    st.markdown(
        "One picture of one head is an anecdote. These tools look at all heads, on many sentences, and ask "
        "what the model would do without them. Every figure is computed from the model while you look."
    )
    contents.draw()
