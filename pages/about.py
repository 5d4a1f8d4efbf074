"""What the app shows, what it does not show, and where its numbers come from."""

import streamlit as st

from attnviz.app.about import limits, meaning_of_a_weight, models, reading_a_picture, sources

with st.container(width=800):
    st.title("About", anchor=False)
    st.header("How to read a picture", anchor=False)
    reading_a_picture()
    meaning_of_a_weight()
    models()
    limits()
    sources()
