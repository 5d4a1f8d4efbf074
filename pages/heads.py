"""Heads at work: what they do over many sentences, and what the model does without them."""

import streamlit as st

from attnviz.app.heads import contents
from attnviz.app.page import page

with page("heads", "Heads at work"):
    st.markdown(
        "One picture of one head is an anecdote. Two of these tools watch all heads on many sentences; the "
        "others take one sentence further."
    )
    st.header("Seven questions, seven tools", anchor=False)
    contents.draw()
