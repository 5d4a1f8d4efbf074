"""Sections below a page's picture, drawn when they are opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ParamSpec

import streamlit as st

from attnviz.app.state import link, memory
from attnviz.app.state.choice import Choice
from attnviz.app.state.choices import OPEN

Arguments = ParamSpec("Arguments")

EVERYTHING = "Everything"
"""Option that opens all sections, for printing or reading the complete page."""

_LAST = "the page on which a section was last opened or closed"

THE_CODE, NOT_SHOWN = "The code", "What this does not show"


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes:
        heading: Heading, in plain text; it must not depend on what the visitor typed.
        draw: Function that draws the content.
        choices: Link parameters; a link with one of these opens the section.
        name: Name in links; "" to use the heading.
    """

    heading: str
    draw: Callable[[], object]
    choices: tuple[Choice[Any], ...] = ()
    name: str = ""

    @property
    def option(self) -> str:
        """The section's name in links."""
        return self.name or self.heading

    def with_choices(self, *choices: Choice[Any]) -> Section:
        """Return the section with these link parameters."""
        return replace(self, choices=choices)


def section(
    heading: str, draw: Callable[Arguments, object], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Section:
    """Return a section drawn by `draw` with these arguments."""
    return Section(heading, partial(draw, *args, **kwargs))


def folded(*sections: Section, key: str = "section") -> None:
    """Draw the headings as buttons in a row, and the open section below them; links contain its name.

    Choices in closed sections are kept, and the open section is open again when the visitor returns to the
    page.

    Args:
        sections: All sections.
        key: Streamlit key; with the prefix "slide-", the sections are part of the teacher's view.
    """
    section_key = f"the section that was open on {link.page()}"
    if memory.get(_LAST) != section_key and not link.in_address(OPEN):
        requested = [each.option for each in sections if any(map(_is_requested, each.choices))]
        initial = requested[0] if len(requested) == 1 else EVERYTHING if requested else None
        OPEN.set(memory.get(section_key, initial))
    headings = {each.option: each.heading for each in sections} | {EVERYTHING: EVERYTHING}
    chosen = OPEN.labelled_pills("More about this", list(headings), headings.__getitem__)
    memory.put(_LAST, section_key)
    memory.put(section_key, chosen)
    with st.container(key=key):
        for each in sections:
            if chosen in (each.option, EVERYTHING):
                st.header(each.heading, anchor=False)
                each.draw()
            else:
                for choice in each.choices:
                    choice.keep()


def _is_requested(choice: Choice[Any]) -> bool:
    """Return whether a link sets this parameter; if pages share it, only the session's first link counts."""
    return bool(link.requested(choice)) if choice.carried else link.contains(choice)
