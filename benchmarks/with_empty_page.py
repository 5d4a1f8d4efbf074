"""The app with one page more, empty but for a switch: what a click on this very server costs at least."""

import sys
from pathlib import Path

import streamlit as st

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # Streamlit puts only this script's own folder there

from attnviz.ui import frame, warm_up  # noqa: E402


def empty() -> None:
    """A page with nothing but something to click."""
    frame.require()
    st.toggle("Switch", key="switch")


def pages():
    return [st.Page(ROOT / "pages" / "explore.py", default=True), st.Page(empty, url_path="empty")]

frame.pages = pages
st.set_page_config(page_title="attnviz", layout="wide")
page = frame.navigation()
page.run()
warm_up.start()
