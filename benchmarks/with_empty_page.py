"""Serve `attnviz app` with another page that has only a switch: the baseline for the time of a click."""

import sys
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from attnviz.__main__ import main

_navigation = st.navigation


def _empty() -> None:
    st.toggle("Switch", key="switch")


def _with_empty_page(pages: Sequence[StreamlitPage], **options: Any) -> StreamlitPage:
    return _navigation([*pages, st.Page(_empty, title="Empty", url_path="empty")], **options)


if __name__ == "__main__":
    # The server runs the app's scripts in this process, so the patch applies to them.
    with patch.object(st, "navigation", _with_empty_page):
        sys.exit(main(["app", *sys.argv[1:]]))
