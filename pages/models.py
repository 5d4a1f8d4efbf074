"""The models on this server, and a form to open others if the operator allows this."""

import streamlit as st

from attnviz.app.folded import folded, section
from attnviz.app.models import here, own
from attnviz.app.page import page
from attnviz.models import allowed

with st.container(width=1000), page("models", "Models"):
    if allowed.may_open():
        own.choose()
    here.draw()
    st.page_link(
        "pages/images.py", label="Images: attention between the patches of an image", icon=":material/image:"
    )
    if not allowed.may_open():
        here.operator_note()
    folded(section("Which models can be shown", here.families))
