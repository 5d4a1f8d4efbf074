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
"""Opens all sections: to print the page, or to read it through."""

_LAST = "on which page a section was opened or closed last"

THE_CODE, NOT_SHOWN = "The code", "What this does not show"


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes:
        heading: plain text, the same for each sentence.
        draw: draws its content.
        choices: what can be chosen there: a link that names one of them opens the section.
        name: what a link calls it; "" for its heading.
    """

    heading: str
    draw: Callable[[], object]
    choices: tuple[Choice[Any], ...] = ()
    name: str = ""

    @property
    def option(self) -> str:
        """What a link calls it."""
        return self.name or self.heading

    def with_choices(self, *choices: Choice[Any]) -> Section:
        """The same, with what can be chosen there."""
        return replace(self, choices=choices)


def section(
    heading: str, draw: Callable[Arguments, object], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Section:
    """The section that `draw` draws with these arguments, if it is open."""
    return Section(heading, partial(draw, *args, **kwargs))


def folded(*sections: Section, key: str = "section") -> None:
    """Draw the headings side by side, and below them the section that is chosen; the link has its name.

    What was chosen or typed in a section is there again when it is opened the next time, and what was open is
    open when the visitor comes back to the page.

    Args:
        sections: all that there are.
        key: Streamlit's key of what is open; with "slide-" in front it is a part of the teacher's view.
    """
    kept = f"the section that was open on {link.page()}"
    if memory.get(_LAST) != kept and not link.in_address(OPEN):
        asked = [each.option for each in sections if any(map(_asked, each.choices))]
        first = asked[0] if len(asked) == 1 else EVERYTHING if asked else None
        OPEN.set(memory.get(kept, first))
    headings = {each.option: each.heading for each in sections} | {EVERYTHING: EVERYTHING}
    chosen = OPEN.labelled_pills("More about this", list(headings), headings.__getitem__)
    memory.put(_LAST, kept)
    memory.put(kept, chosen)
    with st.container(key=key):
        for each in sections:
            if chosen in (each.option, EVERYTHING):
                st.header(each.heading, anchor=False)
                each.draw()
            else:
                for choice in each.choices:
                    choice.keep()


def _asked(choice: Choice[Any]) -> bool:
    """Whether a link opens it; parameters that all pages share do not count."""
    return bool(link.requested(choice)) if choice.carried else link.named(choice)
