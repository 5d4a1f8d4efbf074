"""The bar of a live room, at the foot of each page: what it is told, and what Python hears from it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypedDict
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from attnviz.app.components.component import widget
from attnviz.app.home import PAGES
from attnviz.app.learn import lesson
from attnviz.app.own_question import LONGEST_OPTION, LONGEST_QUESTION, MOST
from attnviz.app.state import link, memory

_SEAT = "the seat in a live room"
_WISH = "what the bar should do"


@dataclass(frozen=True)
class Seat:
    """Where this visitor's browser is."""

    room: str
    teaches: bool


class Poll(TypedDict):
    """A question as a room takes it: plain text; `right` counts the options from 0."""

    question: str
    options: list[str]
    right: int | None


def seat() -> Seat | None:
    """The room that the visitor is in; None for none, and before the browser has told."""
    found: Seat | None = memory.get(_SEAT)
    return found


def wish(what: Literal["open", "join", "leave"], code: str = "") -> None:
    """Let the browser open, join or leave a room."""
    memory.put(_WISH, (secrets.token_hex(4), what, code))


@contextmanager
def after(page: StreamlitPage) -> Iterator[None]:
    """In here the page is drawn; the bar learns what it shows, also where it stopped early or failed."""
    place = st.container(key="room-bar")
    with memory.once_drawn(lambda: _draw(place, page.url_path or "explore")):
        yield


def _draw(place: DeltaGenerator, name: str) -> None:
    never = link.never_copied()
    shown = link.given() if link.page() == name else {}
    asked = lesson.question_on(name)
    here = seat()
    with place:
        room_bar(
            "room_bar",
            page=name,
            query=urlencode({each: to for each, to in shown.items() if each not in never}, doseq=True),
            revealed=sorted(lesson.revealed()),
            question=_poll(asked) if asked else None,
            wish=memory.get(_WISH),
            known=(here.room, here.teaches) if here else None,
            on_seat=_sit,
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
    wish: tuple[str, str, str] | None,
    known: tuple[str, bool] | None,
    on_seat: Callable[[str, bool], None],
    on_reveal: Callable[[list[str]], None],
) -> None:
    """Draws the bar, if the visitor is in a room.

    Args:
        key: Streamlit's key of this widget.
        page: its name.
        query: the page's complete link: with what an address leaves out because nobody changed it.
        revealed: the lessons whose answers are shown.
        question: what the page asks.
        wish: what the browser should do once: an identifier, what, and the code of a room.
        known: the room that Python knows of, and whether the visitor teaches in it.
        on_seat: hears in which room the visitor is, "" for none, and whether they teach.
        on_reveal: hears which lessons the teacher has revealed.
    """


def _sit(room: str, teaches: bool) -> None:
    memory.put(_SEAT, Seat(room, teaches) if room else None)


def _reveal(names: list[str]) -> None:
    lesson.reveal(PAGES.intersection(names))


def _poll(asked: lesson.Asked) -> Poll:
    others = [option for option in asked.options if option != asked.right][: MOST - 1]
    kept = [option for option in asked.options if option in others or option == asked.right]
    return {
        "question": last_sentences(asked.question),
        "options": [_cut(option, LONGEST_OPTION) for option in kept],
        "right": None if asked.right is None else kept.index(asked.right),
    }


def last_sentences(text: str, most: int = LONGEST_QUESTION) -> str:
    """The end of a question as plain text, in whole sentences where so many characters have room for one.

    Args:
        text: Markdown, as the pages write it.
        most: how many characters it may have.
    """
    plain = re.sub(r":\w+\[((?:\\.|[^\]\\])*)\]", r"\1", text)  # :blue[query]
    plain = re.sub(r"(?<!\\)[*`$]", "", plain)
    plain = re.sub(r"\\(.)", r"\1", plain).replace("\u2060", "")
    sentences = re.split(r"(?<=[.?!]) ", plain)
    while len(sentences) > 1 and len(" ".join(sentences)) > most:
        del sentences[0]
    return _cut(" ".join(sentences), most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
