"""What every page about heads at work has: a question, a link to this view, the way to the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from attnviz.app import links, markdown
from attnviz.app.components.copy_link import copy_link
from attnviz.app.explore.model_choice import offer_asked
from attnviz.app.heads.contents import TOOLS
from attnviz.errors import AttnvizError

_ALWAYS = ("text", "other", "edits")
"""What a page fills in where nobody said anything; in its address, it is the same for all who open that."""


@contextmanager
def tool(name: str, parameters: Sequence[str]) -> Iterator[None]:
    """Draw the frame of a page around its sections.

    What raises an `AttnvizError` inside ends the sections with a kind word; the frame stays.

    Args:
        name: of the tool.
        parameters: the keys of the page's widgets that a link can hold.
    """
    links.remember(parameters)
    this = next(tool for tool in TOOLS if tool.name == name)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(this.question, anchor=False, width="content")
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.page_link("pages/heads.py", label="All tools", icon=":material/psychology:")
            link = st.container(width="content")
    notices = st.container()
    try:
        yield
    except AttnvizError as error:
        links.forget()
        st.error(markdown.plain(str(error)), icon=":material/edit:")
    given = links.given(parameters)
    with link:
        copy_link("link", given, always=[name for name in _ALWAYS if given.get(name)])
    with notices:
        links.draw(given)
        offer_asked(given)
    links.drop_unused([name for name in st.query_params if name not in parameters])
    _others(name)


def _others(name: str) -> None:
    """The other tools; model and sentence go along."""
    st.divider()
    along = links.given(["model", "text", "layer", "head"])
    with st.container(horizontal=True, vertical_alignment="center"):
        for other in TOOLS:
            if other.name != name:
                st.page_link(
                    f"pages/{other.name}.py",
                    label=other.title,
                    icon=other.icon,
                    query_params=[(key, value) for key, values in along.items() for value in values],
                )
        st.page_link(
            "pages/explore.py",
            label="Explore",
            icon=":material/grid_view:",
            query_params=[(key, value) for key, values in along.items() for value in values],
        )
