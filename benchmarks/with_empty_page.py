"""The app with one page more, empty but for a switch: what a click on this very server costs at least."""

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from attnviz.app import frame, warm_up

ROOT = Path(__file__).parents[1]


def pages() -> list[StreamlitPage]:
    """Explore and the empty page."""
    explore = st.Page(ROOT / "pages" / "explore.py", title="Explore", default=True)
    return [explore, st.Page(empty, title="Empty")]


def empty() -> None:
    """Nothing but something to click."""
    st.toggle("Switch", key="switch")


frame.pages = pages
st.set_page_config(page_title="attnviz", page_icon="🔍", layout="wide")
frame.navigation().run()
warm_up.start()
