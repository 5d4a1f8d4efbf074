"""Which models can be explored: those on this server, and, where its operator allows it, one's own."""

import streamlit as st

from attnviz.app import frame, links
from attnviz.app.models import families, here, own, running
from attnviz.models import allowed

frame.require()
links.remember()
with st.container(width=1000):
    st.title("Models", anchor=False)
    notices = st.container()
    if allowed.may_open():
        own.choose()
    here.draw()
    families.draw()
    running.draw()
    with notices:
        links.draw(links.given(own.PARAMETERS if allowed.may_open() else ()))
