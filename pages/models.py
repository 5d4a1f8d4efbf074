"""Which models can be explored: those on this server, and, where its operator allows it, one's own."""

import streamlit as st

from attnviz.app.models import here, own
from attnviz.app.page import page
from attnviz.models import allowed

with st.container(width=1000), page("models", "Models"):
    if allowed.may_open():
        own.choose()
    here.draw()
    here.families()
    here.how_to_run_a_server()
