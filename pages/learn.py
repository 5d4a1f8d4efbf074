"""Attention, one question a page, and then a whole transformer."""

import streamlit as st

from attnviz.app.learn import contents
from attnviz.app.page import page

with page("learn", "Learn", lambda: None):
    with st.container(key="slide-attention"):
        st.header("Attention, one question a page", anchor=False)
        st.markdown("Type sentences of your own. Read the pages in order, or begin where you are curious.")
        contents.draw("attention")
    with st.container(key="slide-translator"):
        st.header("A whole transformer", anchor=False)
        st.markdown(
            "A small translator from English into French, written from scratch and trained for these pages: "
            "see it decide whether *it* is *il* or *elle*, and put that to the test."
        )
        contents.draw("translator")
    with st.container(key="slide-storyteller"):
        st.header("A model that writes", anchor=False)
        st.markdown(
            "A small language model, trained for these pages on stories made by rules: watch it write, and "
            "see what it reads for each word."
        )
        contents.draw("storyteller")
    st.page_link(
        "pages/classroom.py", label="For teachers: plans, handouts, assignments", icon=":material/groups:"
    )
