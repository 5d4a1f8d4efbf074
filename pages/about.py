"""What the app shows, what it does not show, and where its numbers come from."""

import streamlit as st

from attnviz.app.about import how_to_read, limits, meaning_of_a_weight, models, sources

with st.container(width=800):
    st.title("About", anchor=False)
    st.header("How to read a picture", anchor=False)
    how_to_read()
    meaning_of_a_weight()
    models()
    limits()
    sources()
