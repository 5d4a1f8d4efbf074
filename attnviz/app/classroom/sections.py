"""The page "Classroom": open a room, show its code, or join a room."""

from __future__ import annotations

import re
from html import escape
from urllib.parse import unquote

import streamlit as st

from attnviz.app import markdown
from attnviz.app.classroom import bar
from attnviz.app.server import address
from attnviz.app.state import memory
from attnviz.app.state.choices import ROOM

_LAST_CODE = "the last code that was tried"

_STYLE = """
<style>
.room-code { font-size: clamp(3rem, 12vw, 7rem); line-height: 1.1; font-weight: 700; letter-spacing: 0.12em; }
.room-address { font-size: clamp(1.25rem, 3vw, 2rem); overflow-wrap: anywhere; }
.room-qr { width: min(100%, 24rem); }
.st-key-room :is(.stMarkdown p, .stAlert p) { font-size: clamp(1rem, 1.875vw, 1.5rem); }
</style>
"""


def draw() -> None:
    """Draw the page for a teacher, for a student, or for a visitor without a room."""
    seat = bar.seat()
    if not seat.room:
        _entrance(seat.trouble)
    elif seat.teaches:
        with st.container(key="room"):
            _draw_for_teacher(seat.room)
    else:
        _draw_for_student(seat.room)


def draw_teachers_heading() -> None:
    """Draw the heading of the teachers' section."""
    st.header("For teachers", anchor=False)


def code_in(typed: str) -> str:
    """Return the room code in a link; without a link, return the text without surrounding spaces."""
    link = re.search(rf"[?&]{ROOM.name}=([^&#]*)", typed)
    return unquote(link[1] if link else typed).strip()


def _entrance(trouble: str) -> None:
    join, teach = st.columns(2, gap="large")
    with join:
        st.header("Join a room", anchor=False)
        st.markdown(
            "Enter the code that your teacher shows; you need neither a name nor an account. Your page "
            "then follows your teacher's, until you choose *Stop following*."
        )
        code = code_in(ROOM.draw("Room code", placeholder="ABC DEF", max_chars=300))
        if trouble:
            st.error(markdown.plain(trouble), icon=":material/groups:")
        pressed = st.button("Join")
        if pressed or (code and memory.get(_LAST_CODE) != code):
            bar.request("join", code)
        memory.put(_LAST_CODE, code)
    with teach:
        st.header("Open a room", anchor=False)
        st.markdown(
            "Students join with a code or a QR code. Their pages follow yours, and you can point at parts of "
            "a picture. Start a poll on a page's question, or choose *Write a quiz question*."
        )
        st.button("Open a room", on_click=bar.request, args=("open",))


def _draw_for_teacher(code: str) -> None:
    st.html(_STYLE)
    app = address.shared_url()
    join_url = app and f"{app}/classroom?{ROOM.name}={code}"
    words, picture = st.columns([3, 2], gap="large", vertical_alignment="center")
    with words:
        st.markdown("Room code:")
        st.html(f'<div class="room-code">{escape(code)}</div>')
        if join_url:
            shown = join_url.removeprefix("http://").removesuffix(f"?room={code}")
            st.markdown("Students on the same network join at this address:")
            st.html(f'<div class="room-address">{escape(shown)}</div>')
        else:
            st.warning(
                "The address for other devices is unknown. To show it here, open this page at the "
                "address that your students will use, not at `localhost`.",
                icon=":material/wifi_off:",
            )
    if join_url:
        with picture:
            description = escape(f"QR code of {join_url}")
            st.html(f'<img class="room-qr" alt="{description}" src="{escape(address.qr_code(join_url))}">')


def _draw_for_student(code: str) -> None:
    st.markdown(
        f"You are in room **{markdown.plain(code)}**. Your page follows your teacher's "
        "until you choose *Stop following* in the bar below; *Follow again* opens your teacher's page."
    )
    st.button("Leave the room", on_click=bar.request, args=("leave",))
