"""The WebSocket of rooms, tested without a browser."""

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

TIMEOUT_SECONDS = 20
POLL = {"do": "poll", "question": "Which?", "options": ["one", "two"], "right": 1}


class Client:
    """A WebSocket connection to a room; `state` is the last state received."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.state: dict[str, Any] = {}

    def do(self, action: str, **more: Any) -> None:
        self.send(json.dumps({"do": action} | more, ensure_ascii=False))

    def send(self, text: str | bytes) -> None:
        self._connection.send(text)

    def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._connection.recv(TIMEOUT_SECONDS))
        if "n" in message:
            assert message["n"] >= self.state.get("n", 0)
            self.state = message
        return message

    def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the condition holds for the state; return the state."""
        while not (self.state and condition(self.state)):
            self.next()
        return self.state

    def poll(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the condition holds for the poll; return the poll."""
        poll: dict[str, Any] = self.until(lambda state: bool(state["poll"] and condition(state["poll"])))[
            "poll"
        ]
        return poll

    def error(self, *, fatal: bool = False) -> str:
        """Return the next error message."""
        while "error" not in (message := self.next()):
            pass
        assert message["fatal"] == fatal
        if fatal:
            assert self.close_code() == 4000
        return str(message["error"])

    def close_code(self) -> int | None:
        """Wait until the connection is closed; return the close code."""
        while True:
            try:
                self._connection.recv(TIMEOUT_SECONDS)
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else None

    def leave(self) -> None:
        self._connection.close()


class Classroom:
    """Servers with rooms, and their clients."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def server(self, store: Store) -> str:
        """Start a new server; return the URL of its WebSocket."""
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

        self._stack.callback(end)
        while not server.started:
            time.sleep(0.01)
        [listener] = server.servers[0].sockets
        return f"ws://127.0.0.1:{listener.getsockname()[1]}/room"

    def client(self, server: str) -> Client:
        """Connect a new client without sending a message."""
        return Client(self._stack.enter_context(connect(server, proxy=None)))

    def teacher(self, server: str) -> tuple[Client, str, str]:
        """Open a new room; return the teacher's client, the room's code and its key."""
        client = self.client(server)
        client.do("open")
        opened = client.next()
        return client, opened["room"], opened["key"]

    def student(self, server: str, room: str, name: str) -> Client:
        """Connect a client that joins the room."""
        client = self.client(server)
        client.do("join", room=room, voter=f"{name:->20}")
        return client


@pytest.fixture
def lesson() -> Iterator[Classroom]:
    with ExitStack() as stack:
        yield Classroom(stack)


@pytest.fixture
def server(lesson: Classroom) -> str:
    return lesson.server(Memory())


@pytest.fixture
def redis_url() -> Iterator[str]:
    with redis_server.running() as address:
        yield address


def test_servers_share_rooms_and_votes_after_reconnection(redis_url: str, lesson: Classroom) -> None:
    server = lesson.server(Redis(redis_url))
    teacher, room, key = lesson.teacher(server)
    teacher.do("poll", **POLL)
    student = lesson.student(server, room, "a")
    student.poll(bool)
    student.do("vote", round=1, option=1)
    teacher.poll(lambda poll: poll["votes"] == 1)
    other = lesson.server(Redis(redis_url))
    reconnected = lesson.client(other)
    reconnected.do("teach", room=room, key=key)
    assert reconnected.until(bool)["poll"]["counts"] == [0, 1]
    assert lesson.student(other, room, "a").until(bool)["poll"]["mine"] == 1
    reconnected.until(lambda state: state["people"]["here"] == 1)  # one student, connected to two servers
    reconnected.do("clear")
    teacher.until(lambda state: state["poll"] is None)  # the other server cleared it
    reconnected.do("end")
    assert "has ended" in teacher.error(fatal=True)


def test_closed_clients_are_not_counted_and_ended_rooms_cannot_be_joined(
    lesson: Classroom, server: str
) -> None:
    teacher, room, _ = lesson.teacher(server)
    student = lesson.student(server, f" {room.lower()} ", "a")
    teacher.until(lambda state: state["people"]["here"] == 1)
    student.leave()
    teacher.until(lambda state: state["people"]["here"] == 0)
    teacher.do("end")
    assert "has ended" in teacher.error(fatal=True)
    assert "no room" in lesson.student(server, room, "a").error(fatal=True)


@pytest.mark.parametrize(
    "first", ["", "[", "[" * 4000, "[]", "1e999", '{"do": "vote"}', b"\xff", f'"{"x" * 8192}"']
)
def test_invalid_first_message_is_refused(lesson: Classroom, server: str, first: str | bytes) -> None:
    client = lesson.client(server)
    client.send(first)
    assert "cannot read" in client.error(fatal=True)


def test_too_long_messages_are_refused_or_close_the_connection(lesson: Classroom, server: str) -> None:
    teacher, room, key = lesson.teacher(server)
    teacher.do("poll", **POLL | {"question": "x" * 8192})
    assert "cannot read" in teacher.error()
    teacher.do("poll", **POLL | {"question": "🐕" * 400, "sentence": "🐕" * 400})
    teacher.poll(bool)
    for text in ("x" * 2**17, b"x" * 2**17):
        teacher.send(text)
        assert teacher.close_code() == 1009
        teacher = lesson.client(server)
        teacher.do("teach", room=room, key=key)
        teacher.poll(bool)


def test_too_frequent_messages_are_ignored_with_one_error(lesson: Classroom, server: str) -> None:
    teacher, room, _ = lesson.teacher(server)
    teacher.do("poll", **POLL)
    student = lesson.student(server, room, "a")
    student.poll(bool)
    for number in range(30):
        student.do("vote", round=1, option=number % 2)
    assert "Too many clicks" in student.error()
    assert teacher.poll(lambda poll: poll["votes"] == 1)["votes"] == 1


def test_idle_client_is_disconnected(lesson: Classroom, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "_FIRST_SECONDS", 0.1)
    assert lesson.client(server).close_code() == 4000
    monkeypatch.setattr(socket, "_AWAKE_SECONDS", 0.1)
    teacher, _, _ = lesson.teacher(server)
    assert teacher.close_code() == 1013


def test_errors_report_an_unavailable_store_until_it_returns(lesson: Classroom, tmp_path: Path) -> None:
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
    assert late.close_code() == 1013
    with redis_server.running(tmp_path):
        while "n" not in student.next():
            pass
        assert student.state["poll"]["mine"] is None
        student.do("vote", round=1, option=1)
        assert teacher.poll(lambda poll: poll["votes"] == 1)["counts"] == [0, 1]
