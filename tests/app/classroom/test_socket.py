"""The socket of rooms, between a server and windows that know nothing but the messages."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from attnviz.app.classroom import socket
from attnviz.app.classroom.socket import Rooms
from attnviz.app.classroom.store import Memory, Redis, Store
from tests.app.classroom import redis_server

SECONDS = 20
POLL = {"do": "poll", "question": "Which?", "options": ["one", "two"], "right": 1}


class Window:
    """A page of a room, without a browser."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.state: dict[str, Any] = {}

    def do(self, what: str, **more: Any) -> None:
        self.send(json.dumps({"do": what} | more, ensure_ascii=False))

    def send(self, text: str | bytes) -> None:
        self._connection.send(text)

    def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._connection.recv(SECONDS))
        if "n" in message:
            assert message["n"] >= self.state.get("n", 0)
            self.state = message
        return message

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first state like this, from the one that is known on."""
        while not (self.state and wanted(self.state)):
            self.next()
        return self.state

    def poll(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first poll like this."""
        poll: dict[str, Any] = self.until(lambda state: bool(state["poll"] and wanted(state["poll"])))["poll"]
        return poll

    def error(self, *, fatal: bool = False) -> str:
        """What it is told next that is wrong."""
        while "error" not in (message := self.next()):
            pass
        assert message["fatal"] == fatal
        if fatal:
            assert self.closed() == 4000
        return str(message["error"])

    def closed(self) -> int | None:
        """The code with which it is closed."""
        while True:
            try:
                self._connection.recv(SECONDS)
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else None

    def leave(self) -> None:
        self._connection.close()


class Class:
    """Servers with rooms, and their windows."""

    def __init__(self, until_the_end: ExitStack) -> None:
        self._until_the_end = until_the_end

    def server(self, store: Store) -> str:
        """The address of a new server."""
        rooms = Rooms(store)
        config = uvicorn.Config(
            Starlette(routes=[rooms.route], lifespan=rooms.lifespan), port=0, log_level="error"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()

        def end() -> None:
            server.should_exit = True
            thread.join()

        self._until_the_end.callback(end)
        while not server.started:
            time.sleep(0.01)
        [listening] = server.servers[0].sockets
        return f"ws://127.0.0.1:{listening.getsockname()[1]}/room"

    def window(self, server: str) -> Window:
        """A new one, that has said nothing yet."""
        return Window(self._until_the_end.enter_context(connect(server, proxy=None)))

    def teacher(self, server: str) -> tuple[Window, str, str]:
        """One with a new room, its code and key."""
        window = self.window(server)
        window.do("open")
        opened = window.next()
        return window, opened["room"], opened["key"]

    def student(self, server: str, room: str, name: str) -> Window:
        """One who has joined."""
        window = self.window(server)
        window.do("join", room=room, voter=f"{name:->20}")
        return window


@pytest.fixture
def lesson() -> Iterator[Class]:
    with ExitStack() as until_the_end:
        yield Class(until_the_end)


@pytest.fixture
def server(lesson: Class) -> str:
    return lesson.server(Memory())


@pytest.fixture
def redis_address() -> Iterator[str]:
    with redis_server.running() as address:
        yield address


def test_teacher_and_students_come_back_to_what_was(redis_address: str, lesson: Class) -> None:
    server = lesson.server(Redis(redis_address))
    teacher, room, key = lesson.teacher(server)
    teacher.do("poll", **POLL)
    student = lesson.student(server, room, "a")
    student.poll(bool)
    student.do("vote", round=1, option=1)
    teacher.poll(lambda poll: poll["votes"] == 1)
    other = lesson.server(Redis(redis_address))
    again = lesson.window(other)
    again.do("teach", room=room, key=key)
    assert again.until(bool)["poll"]["counts"] == [0, 1]
    assert lesson.student(other, room, "a").until(bool)["poll"]["mine"] == 1
    again.until(lambda state: state["people"]["here"] == 1)  # the same student, by way of two servers
    again.do("clear")
    teacher.until(lambda state: state["poll"] is None)  # by way of the other server
    again.do("end")
    assert "closed" in teacher.error(fatal=True)


def test_who_closes_a_window_is_not_counted_and_an_ended_room_takes_nobody(
    lesson: Class, server: str
) -> None:
    teacher, room, _ = lesson.teacher(server)
    student = lesson.student(server, f" {room.lower()} ", "a")
    teacher.until(lambda state: state["people"]["here"] == 1)
    student.leave()
    teacher.until(lambda state: state["people"]["here"] == 0)
    teacher.do("end")
    assert "closed" in teacher.error(fatal=True)
    assert "no room" in lesson.student(server, room, "a").error(fatal=True)


@pytest.mark.parametrize(
    "first", ["", "[", "[" * 4000, "[]", "1e999", '{"do": "vote"}', b"\xff", f'"{"x" * 8192}"']
)
def test_what_is_no_first_message_is_refused(lesson: Class, server: str, first: str | bytes) -> None:
    window = lesson.window(server)
    window.send(first)
    assert "cannot read" in window.error(fatal=True)


def test_a_long_message_is_refused_and_a_far_too_long_one_ends_the_window_but_not_the_room(
    lesson: Class, server: str
) -> None:
    teacher, room, key = lesson.teacher(server)
    teacher.do("poll", **POLL | {"question": "x" * 8192})
    assert "cannot read" in teacher.error()
    teacher.do("poll", **POLL | {"question": "🐕" * 400, "sentence": "🐕" * 400})
    teacher.poll(bool)
    for text in ("x" * 2**17, b"x" * 2**17):
        teacher.send(text)
        assert teacher.closed() == 1009
        teacher = lesson.window(server)
        teacher.do("teach", room=room, key=key)
        teacher.poll(bool)


def test_a_hasty_window_is_told_once_and_passed_over(lesson: Class, server: str) -> None:
    teacher, room, _ = lesson.teacher(server)
    teacher.do("poll", **POLL)
    student = lesson.student(server, room, "a")
    student.poll(bool)
    for number in range(30):
        student.do("vote", round=1, option=number % 2)
    assert "Too many clicks" in student.error()
    assert teacher.poll(lambda poll: poll["votes"] == 1)["votes"] == 1


def test_a_silent_window_is_closed(lesson: Class, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "_FIRST_SECONDS", 0.1)
    assert lesson.window(server).closed() == 4000
    monkeypatch.setattr(socket, "_AWAKE_SECONDS", 0.1)
    teacher, _, _ = lesson.teacher(server)
    assert teacher.closed() == 1013


def test_a_store_that_goes_away_is_told_and_comes_back(lesson: Class, tmp_path: Path) -> None:
    with redis_server.running(tmp_path) as address:
        server = lesson.server(Redis(address))
        teacher, room, _ = lesson.teacher(server)
        student = lesson.student(server, room, "a")
        teacher.do("poll", **POLL)
        student.poll(bool)
    assert "are unavailable" in student.error()
    assert "are unavailable" in teacher.error()
    student.do("vote", round=1, option=0)
    assert "may be lost" in student.error()
    late = lesson.student(server, room, "b")
    assert "are unavailable" in late.error()
    assert late.closed() == 1013
    with redis_server.running(tmp_path):
        while "n" not in student.next():
            pass
        assert student.state["poll"]["mine"] is None
        student.do("vote", round=1, option=1)
        assert teacher.poll(lambda poll: poll["votes"] == 1)["counts"] == [0, 1]
