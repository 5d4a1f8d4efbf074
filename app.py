"""The app: Streamlit runs this file in every rerun, and its server imports it once."""

import streamlit as st

from attnviz.app import frame
from attnviz.app.server import serving

if __name__ == "__main__":
    frame.run()
else:
    app = st.App(__file__, **serving.options())
