"""The way that a visitor came: the pages before this one, each with the head that was open there."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from attnviz.app import frame
from attnviz.app.classroom import bar
from attnviz.app.state import link, memory
from attnviz.app.state.choices import HEAD, LAYER, of_page

_TRAIL = "the way to this page"
_MOST = 3  # pages before this one


class _Stop(NamedTuple):
    page: str
    head: str
    query: list[tuple[str, str]]


def draw() -> None:
    """Draw the ways back; where this view was on the way before, the way ends there again."""
    way: list[_Stop] = memory.get(_TRAIL, [])
    page, head = link.page(), _head()
    if not way or way[-1].page != page:
        before = next((at for at, stop in enumerate(way) if stop[:2] == (page, head)), len(way))
        way = [*way[:before], _Stop(page, head, [])][-_MOST - 1 :]
        memory.put(_TRAIL, way)
    if len(way) == 1 or bar.seat().room:
        return
    with st.container(horizontal=True, gap="small", key="trail"):
        for stop in way[:-1]:
            name = f"{frame.TITLES[stop.page]} {stop.head}".strip()
            st.page_link(f"pages/{stop.page}.py", label=f"{name} ›", query_params=stop.query)


def note() -> None:
    """Remember what the page shows now, at its end."""
    way: list[_Stop] = memory.get(_TRAIL, [])
    if way and way[-1].page == link.page():
        query = [(name, value) for name, values in link.given().items() for value in values]
        memory.put(_TRAIL, [*way[:-1], _Stop(link.page(), _head(), query)])


def _head() -> str:
    """The open head, "2-9"; "" on a page that has none."""
    here = of_page(link.page())
    chosen = [link.said(each) for each in (LAYER, HEAD) if each.name in here]
    return "-".join(chosen) if len(chosen) == 2 and all(chosen) else ""
