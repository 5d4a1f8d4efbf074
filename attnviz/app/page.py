"""The frame of every page: it reads the link's parameters, and reports invalid parameters at the end."""

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

_NO_MEMORY = "can't allocate memory"  # part of torch's message
_OUT_OF_MEMORY = "This server is out of memory. Try again later, or with a shorter text."
_TEACHERS_VIEW = (
    "For a projector: one part of the page at a time, in large type. The keys → and ←, or the buttons of a "
    "clicker, move forward and back; the full-stop key (.) blanks the screen."
)


@dataclass
class Frame:
    """A page that is being drawn.

    Attributes:
        notices: Placeholder for notices about the link.
        link_place: Placeholder for "Copy link"; None if `end` does not draw it.
        always: Parameters that the copied link always has; None: the parameters marked `always`.
        drop_undrawn: True to remove from the URL the parameters of widgets that are not drawn.
    """

    notices: DeltaGenerator
    link_place: DeltaGenerator | None = None
    always: list[str] | None = None
    drop_undrawn: bool = False
    ended: bool = False

    def end(self, failed: bool = False) -> None:
        """Draw "Copy link", and report invalid parameters of the link that was opened.

        If a section `failed`, the URL keeps the parameters of its widgets.
        """
        self.ended = True
        if self.link_place:
            with self.link_place:
                draw_copy_link(self.always)
        with self.notices:
            if parts := link.notices():
                st.warning("\n\n".join(parts), icon=":material/link_off:")
                controls.offer_requested_model()
        link.drop_unused(undrawn=self.drop_undrawn and not failed)

    def part(self, draw: Callable[[], None]) -> None:
        """Draw the rest of the page as a fragment, which reruns alone when only its widgets change.

        The closure of `draw` is kept for the whole session: it must hold cache keys, not arrays.
        """
        room = room_bar.current()

        def draw_rest() -> None:
            self.notices = st.container()
            with memory.once_drawn(room.draw if room else lambda: None):
                with _showing_errors() as problems:
                    draw()
                self.end(failed=bool(problems))

        st.fragment(draw_rest)()


@contextmanager
def page(
    name: str, title: str = "", title_extras: Callable[[], None] | None = None, *, drop_undrawn: bool = False
) -> Iterator[Frame]:
    """Draw the frame of a page around its sections.

    After an `AttnvizError`, or if memory runs out, a message replaces the remaining sections.

    Args:
        name: Name of the page; `state.choices` has its parameters.
        title: Heading; "" for none.
        title_extras: Function that draws elements between the title and "Copy link"; None omits both.
        drop_undrawn: as in `Frame`.
    """
    link.arrive(name)
    place = _title_row(title, title_extras) if title_extras else None
    if title and not title_extras:
        st.title(title, anchor=False)
    this = Frame(st.container(), place, drop_undrawn=drop_undrawn)
    with _showing_errors() as problems:
        yield this
    if not this.ended:
        this.end(failed=bool(problems))


def draw_copy_link(always: list[str] | None = None) -> None:
    """Draw the teacher's view switch, if the page has one, and the button that copies the link.

    The copied link has the parameters `always` even at their defaults, as in `Frame`. Switches that are off
    are omitted, and empty values, except on pages that open with another value.
    """
    if link.page() in TEACHER.pages:
        TEACHER.toggle("Teacher's view", help=_TEACHERS_VIEW)
    here = of_page(link.page())
    empty: tuple[list[str], ...] = ([], [""], ["false"])
    parameters = {
        name: values or [""]
        for name, values in link.values().items()
        if values not in empty or link.page() in here[name].opens_set
    }
    if always is None:
        always = [name for name in parameters if here[name].always]
    copy_link("link", parameters, always, link.never_copied())


def stop(
    error: AttnvizError, icon: str = ":material/edit:", then: Callable[[], None] | None = None
) -> NoReturn:
    """Show why the page cannot continue, let `then` draw a remedy, and stop."""
    _show_error(error, icon)
    if then:
        then()
    raise StopException  # after st.stop(), the bar of a room could not be drawn


@contextmanager
def _showing_errors() -> Iterator[list[AttnvizError]]:
    """Show an error inside this context on the page, and append it to the list."""
    problems: list[AttnvizError] = []
    try:
        yield problems
    except AttnvizError as error:
        problems.append(error)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and _NO_MEMORY not in str(error):
            raise
        logging.getLogger(__name__).warning("A page could not be drawn: out of memory.")
        problems.append(AttnvizError(_OUT_OF_MEMORY))
    for problem in problems:
        _show_error(problem)


def _show_error(error: AttnvizError, icon: str = ":material/edit:") -> None:
    link.forget()
    st.error(markdown.plain(str(error)), icon=icon)


def _title_row(title: str, extras: Callable[[], None]) -> DeltaGenerator:
    """Draw the title and the elements in its row; return the placeholder for "Copy link"."""
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="title"
    ):
        st.title(title, anchor=False, width="content")
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            extras()
            return st.container(horizontal=True, vertical_alignment="center", width="content")


def bar() -> DeltaGenerator:
    """Return a container for a page's main controls: one line, with labels before the boxes."""
    return st.container(key="bar")
