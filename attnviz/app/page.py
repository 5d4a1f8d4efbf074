"""The frame of every page: it reads the link's parameters, and reports invalid ones at the end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException

from attnviz.app import controls, markdown
from attnviz.app.classroom import bar as room_bar
from attnviz.app.components.copy_link import copy_link
from attnviz.app.state import link, memory
from attnviz.app.state.choices import TEACHER, of_page
from attnviz.errors import AttnvizError

_NO_MEMORY = "can't allocate memory"  # in torch's words
_FULL = "This server has no memory left for that. Try again in a while, or with a shorter text."
_TEACHERS_VIEW = (
    "For a projector: one part of the page at a time, in large type. The keys → and ←, or those of a "
    "clicker, lead on and back; a full stop makes the screen black."
)


@dataclass
class Frame:
    """A page that is being drawn.

    Attributes:
        notices: the place for notices about the link.
        beside: the place of "Copy link"; None where the page draws it elsewhere, or not at all.
        always: the choices that the copied link always names; None: by the table.
        drop_undrawn: whether the address forgets what the page has at times and does not draw now.
    """

    notices: DeltaGenerator
    beside: DeltaGenerator | None = None
    always: list[str] | None = None
    drop_undrawn: bool = False
    ended: bool = False

    def end(self, failed: bool = False) -> None:
        """Draw the link to this view, and report invalid parameters of the one that led here.

        Where a section `failed`, the address keeps what only that one would have drawn: it comes back.
        """
        self.ended = True
        if self.beside:
            with self.beside:
                draw_copy_link(self.always)
        with self.notices:
            if parts := link.notices():
                st.warning("\n\n".join(parts), icon=":material/link_off:")
                controls.offer_requested_model()
        link.drop_unused(undrawn=self.drop_undrawn and not failed)

    def part(self, draw: Callable[[], None]) -> None:
        """Draw the rest of the page, which runs alone when nothing but a choice in it has changed.

        What `draw` holds on to is kept for the whole visit: keys of the caches, and no arrays.
        """
        room = room_bar.current()

        def rest() -> None:
            self.notices = st.container()
            with memory.once_drawn(room.draw if room else lambda: None):
                with _telling() as problems:
                    draw()
                self.end(failed=bool(problems))

        st.fragment(rest)()


@contextmanager
def page(
    name: str, title: str = "", beside: Callable[[], None] | None = None, *, drop_undrawn: bool = False
) -> Iterator[Frame]:
    """Draw the frame of a page around its sections.

    What raises an `AttnvizError` inside ends the sections with the error's words; the frame stays. So does
    a lack of memory.

    Args:
        name: of the page; its choices are those that the table of `state.choices` gives it.
        title: its heading; "" for none.
        beside: draws what is beside the title, in front of "Copy link"; None for neither.
        drop_undrawn: whether the address forgets what the page has at times and does not draw now.
    """
    link.arrive(name)
    place = _title_row(title, beside) if beside else None
    if title and not beside:
        st.title(title, anchor=False)
    this = Frame(st.container(), place, drop_undrawn=drop_undrawn)
    with _telling() as problems:
        yield this
    if not this.ended:
        this.end(failed=bool(problems))


def draw_copy_link(always: list[str] | None = None) -> None:
    """Draw the switch of the teacher's view, where the page has one, and the button that copies the link.

    The address always names the choices `always`, even as the visitor found them; None: by the table.
    It omits what is empty or off.
    """
    if link.page() in TEACHER.pages:
        TEACHER.toggle("Teacher's view", help=_TEACHERS_VIEW)
    here = of_page(link.page())
    nothing: tuple[list[str], ...] = ([], [""], ["false"])
    given = {name: values for name, values in link.values().items() if values not in nothing}
    if always is None:
        always = [name for name in given if here[name].always]
    copy_link("link", given, always, link.never_copied())


def stop(
    error: AttnvizError, icon: str = ":material/edit:", then: Callable[[], None] | None = None
) -> NoReturn:
    """Show why the page cannot go on, right here; let `then` draw what helps, and end it."""
    _tell(error, icon)
    if then:
        then()
    raise StopException  # after st.stop(), the bar of a room could not be drawn


@contextmanager
def _telling() -> Iterator[list[AttnvizError]]:
    """An error that ends the sections in here is shown on the page, and added to the list."""
    problems: list[AttnvizError] = []
    try:
        yield problems
    except AttnvizError as error:
        problems.append(error)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and _NO_MEMORY not in str(error):
            raise
        logging.getLogger(__name__).warning("A page could not be drawn: no memory is left.")
        problems.append(AttnvizError(_FULL))
    for problem in problems:
        _tell(problem)


def _tell(error: AttnvizError, icon: str = ":material/edit:") -> None:
    link.forget()
    st.error(markdown.plain(str(error)), icon=icon)


def _title_row(title: str, beside: Callable[[], None]) -> DeltaGenerator:
    """Draw the title with what is beside it; return the place for "Copy link"."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="title"
    ):
        st.title(title, anchor=False, width="content")
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            beside()
            return st.container(horizontal=True, vertical_alignment="center", width="content")


def bar() -> DeltaGenerator:
    """Return a place for the sentence and the head of a page: one line, with each name before its box."""
    return st.container(key="bar")
