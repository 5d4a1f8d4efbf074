"""The models that are on this server, each with its facts and the way to its attention."""

from __future__ import annotations

import logging

import streamlit as st

from attnviz.app import markdown
from attnviz.app.caches import looked_up
from attnviz.app.models import facts
from attnviz.app.models.exploring import explore_with
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.models import allowed
from attnviz.models.catalogue import Entry

_IN_A_ROW = 2


def draw() -> None:
    """Draw every model that a visitor of this server can choose."""
    st.header("On this server", anchor=False)
    opened = allowed.opened()
    names = sorted(allowed.names(), key=lambda name: name not in opened)  # whoever opened one looks for it
    for first in range(0, len(names), _IN_A_ROW):
        row = names[first : first + _IN_A_ROW]
        for column, name in zip(st.columns(_IN_A_ROW), row, strict=False):
            with column.container(border=True, height="stretch"):
                _draw(name)


def _draw(name: str) -> None:
    entry = looked_up(name)
    if isinstance(entry, AttnvizError):
        st.markdown(f"**{markdown.code(name)}**")
        st.warning(markdown.plain(_problem(name, entry)), icon=":material/block:")
        return
    title = markdown.code(entry.name)
    st.markdown(title if entry.title == entry.name else f"**{markdown.plain(entry.title)}** · {title}")
    st.markdown(f"{markdown.plain(entry.description)}  \n:small[{facts.in_brief(entry)}]")
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        explore_with(entry)
        st.markdown(f":small[{_state(entry)}]", width="content")


def _state(entry: Entry) -> str:
    return "in memory" if loading.ready(entry.name) else "loads when it is first used"


def _problem(name: str, error: AttnvizError) -> str:
    """Why it cannot be used; visitors of a public server do not learn where its files lie."""
    if not allowed.public():
        return str(error)
    logging.getLogger(__name__).warning("%s cannot be used: %s", name, error)
    return "It cannot be used at the moment. Whoever runs this server finds the reason in its log."
