"""Heads at work: what they do over many sentences, and what the model does without them."""

import streamlit as st

from attnviz.app.heads import contents
from attnviz.app.page import page

with page("heads", "Heads at work"):
    st.markdown(
        "One picture of one head is an anecdote. Two of these tools watch all heads on many sentences; the "
        "others take one sentence further: what changes with a word, what moves without a head, and what "
        "else than weights there is to ask."
    )
    st.header("Six questions, six tools", anchor=False)
    contents.draw()
