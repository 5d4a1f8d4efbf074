"""Attention in eight questions, one a page, from the weighted average to the whole block."""

import streamlit as st

from attnviz.ui import frame
from attnviz.ui.learn.contents import contents

frame.require()
with st.container(width=1000):
    st.title("Learn", anchor=False)
    st.header("Attention in eight questions", anchor=False)
    st.markdown(
        "Each page answers one question: a minute to understand, ten to play with. The sentence is yours, "
        "and every number is computed while you look, with the vectors of a real BERT. Read them in order, "
        "or begin where you are curious."
    )
    contents()
