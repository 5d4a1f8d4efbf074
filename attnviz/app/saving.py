"""Files that a visitor takes along: the button that saves one, and names that are safe on every system."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import streamlit as st

from attnviz.trace import Trace

_MOST = 60  # characters of a model's name that a file's name has room for
_TYPES = {"csv": "text/csv", "npz": "application/zip", "html": "text/html"}


def save_file(
    label: str, contents: Callable[[], str | bytes], name: str, what: str | None = None, icon: str = ""
) -> None:
    """Draw the button that makes a file of this name, with its ending, when it is pressed."""
    kind = _TYPES[name.rsplit(".", 1)[1]]
    st.download_button(label, contents, name, kind, help=what, icon=icon or None, on_click="ignore")


def npz_of(trace: Trace) -> bytes:
    """A whole forward pass as a file."""
    file = io.BytesIO()
    trace.save(file)
    return file.getvalue()


def file_name_of(model: str) -> str:
    """How a file about this model begins: "attnviz-openai-gpt2" for "openai/gpt2"; never a path.

    Of a long name the end is kept, where a folder has its own name.
    """
    kept = re.sub(r"[^A-Za-z0-9_]+", "-", model)
    return f"attnviz-{kept[-_MOST:].strip('-') or 'model'}"
