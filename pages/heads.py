"""Heads at work: what they do over many sentences, and what the model does without them."""

import streamlit as st

from attnviz.app.heads import contents
from attnviz.app.page import page

with page("heads", "Heads at work", lambda: None), st.container(key="slide-tools"):
    contents.draw()
