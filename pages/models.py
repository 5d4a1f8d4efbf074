"""Which models can be explored: those on this server, and, where its operator allows it, one's own."""

import streamlit as st

from attnviz.app.models import families, here, own, running
from attnviz.app.page import page
from attnviz.models import allowed

with st.container(width=1000), page("models", "Models"):
    if allowed.may_open():
        own.choose()
    here.draw()
    families.draw()
    running.draw()
