"""The app: the server imports this file once, and Streamlit runs it for every rerun."""

import streamlit as st

from attnviz.app import frame
from attnviz.app.server import serving

if __name__ == "__main__":
    frame.run()
else:
    app = st.App(__file__, **serving.options())
