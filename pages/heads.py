"""Heads at work: tools to measure heads on many sentences, and to edit them."""

import streamlit as st

from attnviz.app.heads import contents
from attnviz.app.page import page

with page("heads", "Heads at work", lambda: None), st.container(key="slide-tools"):
    contents.draw()
