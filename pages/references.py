"""The papers that the pages and the code cite, each with its title, venue and identifier."""

import streamlit as st

from attnviz.app import references
from attnviz.app.page import page

with st.container(width=800), page("references", "References"):
    references.draw()
