"""The bar of a live room, at the bottom of each page: its data and its messages."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypedDict
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from attnviz.app import question as questions
from attnviz.app.components.component import widget
from attnviz.app.home import PAGES
from attnviz.app.question import MAX_LENGTH, MAX_OPTION_LENGTH, Question
from attnviz.app.state import choices, link, memory

_SEAT = "the seat in a live room"
_REQUEST = "the action requested from the browser"

_QUESTION_PARAMETERS = {choices.QUIZ.name, choices.OPTIONS.name, choices.RIGHT.name}
"""Parameters omitted from the shared view: students vote in the bar, and see the correct answer later."""


@dataclass(frozen=True)
class Seat:
    """A visitor's role in a room.

    Attributes:
        room: Code of the room; "" without a room, and before the browser's first message.
        teaches: True for the teacher.
        trouble: Reason why there is no room; "" for none.
    """

    room: str = ""
    teaches: bool = False
    trouble: str = ""


class Poll(TypedDict):
    """A question for a room, in plain text.

    Attributes:
        right: Index of the correct option, from 0; None if no option is marked as correct.
        own: True if the teacher wrote it.
        sentence: The sentence that the question is about; "" for none.
    """

    question: str
    sentence: str
    options: list[str]
    right: int | None
    own: bool


def seat() -> Seat:
    """Return the visitor's seat."""
    found: Seat = memory.get(_SEAT, Seat())
    return found


def request(action: Literal["open", "join", "leave"], code: str = "") -> None:
    """Ask the browser to open, join or leave a room."""
    memory.put(_REQUEST, (secrets.token_hex(4), action, code))


@dataclass
class Bar:
    """The room's bar on the page that is being drawn; redrawn whenever a fragment of the page reruns.

    Attributes:
        place: Container of the bar.
        page: Name of the page.
        drawn: True once the bar is drawn.
    """

    place: DeltaGenerator
    page: str
    drawn: bool = False

    def draw(self) -> None:
        """Draw the bar with the page's current state."""
        self.drawn = True
        _draw(self.place, self.page)


_CURRENT: ContextVar[Bar] = ContextVar("the bar of the page that is being drawn")


def current() -> Bar | None:
    """Return the bar of the page that is being drawn; None outside of a page."""
    return _CURRENT.get(None)


@contextmanager
def after(page: StreamlitPage) -> Iterator[None]:
    """Draw the bar after the page drawn in this block, even if the page stops early or fails."""
    bar = Bar(st.container(key="room-bar"), page.url_path or "explore")
    token = _CURRENT.set(bar)
    try:
        with memory.once_drawn(lambda: None if bar.drawn else bar.draw()):
            yield
    finally:
        _CURRENT.reset(token)


def _draw(place: DeltaGenerator, name: str) -> None:
    omitted = {*link.never_copied(), *_QUESTION_PARAMETERS}
    shown = link.values() if link.page() == name else {}
    question = questions.on_page(name)
    here = seat()
    with place:
        room_bar(
            "room_bar",
            page=name,
            query=urlencode({key: values for key, values in shown.items() if key not in omitted}, doseq=True),
            revealed=sorted(questions.revealed()),
            question=_poll(question) if question else None,
            request=memory.get(_REQUEST),
            known=(here.room, here.teaches, here.trouble, questions.why_covered()),
            on_seat=_set_seat,
            on_reveal=_reveal,
        )


@widget
def room_bar(
    key: str,
    /,
    *,
    page: str,
    query: str,
    revealed: list[str],
    question: Poll | None,
    request: tuple[str, str, str] | None,
    known: tuple[str, bool, str, str],
    on_seat: Callable[[str, bool, str, str], None],
    on_reveal: Callable[[list[str]], None],
) -> None:
    """Draw the bar, if the visitor is in a room.

    Args:
        key: Streamlit key of this widget.
        page: Name of the page.
        query: URL query of the shared view, including defaults.
        revealed: Lessons with revealed answers.
        question: Question of the page.
        request: Action for the browser, executed once: an identifier, the action, and the code of a room.
        known: The last arguments of `on_seat`.
        on_seat: Called with the room, whether the visitor teaches, the problem (see `Seat`), and the reason
            why answers stay covered (see `question.why_covered`).
        on_reveal: Called with the lessons that the teacher has revealed.
    """


def _set_seat(room: str, teaches: bool, trouble: str, covered: str) -> None:
    memory.put(_SEAT, Seat(room, teaches, trouble))
    questions.keep_covered(covered, in_room=bool(room))


def _reveal(names: list[str]) -> None:
    questions.reveal(PAGES.intersection(names))


def _poll(question: Question) -> Poll:
    right = None if question.right is None else list(question.options).index(question.right)
    options = [_shortened(option, MAX_OPTION_LENGTH) for option in question.options]
    return {
        "question": _shortened(_plain(question.text), MAX_LENGTH),
        "sentence": _shortened(questions.sentence_of_page(), MAX_LENGTH) if question.of_sentence else "",
        "options": options,
        "right": right,
        "own": question.own,
    }


def _plain(text: str) -> str:
    """Remove Markdown formatting."""
    plain = re.sub(r":\w+\[((?:\\.|[^\]\\])*)\]", r"\1", text)  # :blue[query]
    plain = re.sub(r"(`+) ?(.+?) ?\1|(?<![\\*])\*([^*]+?)(?<!\\)\*(?!\*)", r"“\2\3”", plain)  # a token
    plain = re.sub(r"(?<!\\)[*$]", "", plain)
    return re.sub(r"\\(.)", r"\1", plain).replace("\u2060", "")


def _shortened(text: str, maximum: int) -> str:
    return text if len(text) <= maximum else f"{text[: maximum - 1]}…"
