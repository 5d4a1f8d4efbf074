"""Which model reads: one of those that are on this server."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from attnviz.app import links, markdown
from attnviz.app.caches import usable
from attnviz.models import allowed

_LONGEST_ASKED = 200  # characters of a model's name in a link that a button repeats


def choose_model() -> str:
    """Draw the choice of a model that reads texts, and the way to the visitor's own; return its name."""
    described = {entry.name: markdown.plain(entry.description) for entry in usable() if not entry.sees}
    if not described:
        st.error("No model on this server can read texts at the moment.", icon=":material/block:")
        st.page_link("pages/models.py", label="Models", icon=":material/deployed_code:")
        st.stop()
    if st.session_state.get("model") not in (*described, None):
        st.session_state["model"] = next(iter(described))  # one that sees pictures, or whose files have gone
    chosen = st.selectbox(
        "Model",
        list(described),
        key="model",
        bind="query-params",
        help="\n\n".join(f"**{markdown.code(name)}**: {text}" for name, text in described.items()),
    )
    if allowed.may_open():
        st.page_link("pages/models.py", label="Your own model …", icon=":material/add:")
    return chosen


def offer_asked(given: Mapping[str, list[str]]) -> None:
    """Draw a way to the model that a link asked for, while the page says that it does not read here.

    A link alone never makes the server look at a model: it could name a folder, or a file that is huge.

    Args:
        given: every parameter the page knows, as `links.draw` takes them.
    """
    name = " ".join(" ".join(links.asked("model")).split())
    if not name or given.get("model") == [name] or not links.notices(given):
        return
    if any(entry.name == name and entry.sees for entry in usable()):
        st.page_link(
            "pages/pictures.py",
            label=f"{markdown.code(name)} sees pictures, and reads no text. Show it a picture …",
            icon=":material/image:",
            query_params={"model": name},
        )
    elif allowed.may_open() and name not in allowed.names() and len(name) <= _LONGEST_ASKED:
        st.page_link(
            "pages/models.py",
            label=f"Open {markdown.code(name)} on this server …",
            icon=":material/memory:",
            query_params={"own": name},
        )
    else:
        st.page_link("pages/models.py", label="See which models there are …", icon=":material/deployed_code:")
