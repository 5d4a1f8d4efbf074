"""What the pages and the code cite: each paper's title, where it was published, and its number."""

import streamlit as st

from attnviz.app import references
from attnviz.app.page import page

with st.container(width=800), page("references", "References"):
    references.draw()
