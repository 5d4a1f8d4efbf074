"""The rooms' WebSocket: it admits teachers and students, handles their messages, and sends them the state.

Each message is a JSON object. After each change, a window receives the complete state visible to it. A fatal
error is the last message: the browser then forgets its seat (see `room.js`). If the connection ends in any
other way, the browser keeps its seat and reconnects.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

from attnviz.app.classroom import rooms
from attnviz.app.classroom.rooms import NoEntry, Refused, Room
from attnviz.app.classroom.store import Store, add, update

_FIRST_SECONDS, _AWAKE_SECONDS = 10.0, 60.0  # timeouts for the first and for each later message
_MAX_BYTES = 8192  # maximum bytes of a message; a poll of maximum length, all emoji, has 5,120
_MAX_RECEIVED_BYTES = 2**16  # a longer message closes the socket
_MAX_MESSAGES = 10  # maximum number of messages from a window in one second
_REFUSAL_SECONDS = 1.0  # delay before a wrong code or key is refused
_POLL_SECONDS = 0.25  # interval between reads of the store, and between messages to a window
_PRESENCE_SECONDS = 10.0  # interval of presence updates to the store
_SWEEP_SECONDS = 60.0  # interval between deletions of ended rooms
_UNAVAILABLE = (
    "The rooms of this server are unavailable at the moment, and your last action may be lost. "
    "The page works without the room, and reconnects automatically."
)
_CLOSED, _TRY_AGAIN, _FOREIGN, _TOO_LARGE = 4000, 1013, 1008, 1009  # WebSocket close codes

Result = TypeVar("Result")


class StoreUnavailable(Exception):
    """The store does not respond, or is full."""


class _Window:
    """One open socket.

    Attributes:
        voter: Id of the student in the room; None for the teacher.
        changed: Set when there may be something to send.
        error: Error to send, and whether it is fatal; None for no error.
        sent: Last sent state.
    """

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.voter: str | None = None
        self.changed = asyncio.Event()
        self.changed.set()
        self.error: tuple[str, bool] | None = None
        self.sent: dict[str, Any] | None = None
        self._second, self._messages = 0.0, 0

    def refuse(self, reason: str, *, fatal: bool = False) -> None:
        """Queue an error message."""
        if self.error is None or fatal:
            self.error = reason, fatal
        self.changed.set()

    def exceeds_rate_limit(self) -> bool:
        """Count a message; return whether it exceeds the limit. The first such message queues an error."""
        if time.monotonic() - self._second >= 1:
            self._second, self._messages = time.monotonic(), 0
        self._messages += 1
        if self._messages == _MAX_MESSAGES + 1:
            self.refuse("Too many clicks within a second: some were ignored.")
        return self._messages > _MAX_MESSAGES

    async def send(self, live: _LiveRoom) -> None:
        """Send errors and states, at most four times a second, until the socket closes."""
        with suppress(WebSocketDisconnect, RuntimeError):  # the socket is closed
            while True:
                await self.changed.wait()
                self.changed.clear()
                if self.error:
                    (reason, fatal), self.error = self.error, None
                    await _send(self.socket, {"error": reason, "fatal": fatal})
                    if fatal:
                        await self.socket.close(_CLOSED)
                        return
                state = live.room.visible_to(self.voter)
                if state != self.sent:
                    await _send(self.socket, {"n": live.number, **state})
                    self.sent = state
                await asyncio.sleep(_POLL_SECONDS)


class _LiveRoom:
    """A room with windows in this process.

    Attributes:
        number, room: Number of the latest known version of the room, and that version.
        windows: Windows, oldest first.
        left: Students who closed their last window here; not yet written to the store.
        presence_time: Time of the last presence update to the store.
    """

    def __init__(self, number: int, room: Room) -> None:
        self.number, self.room = number, room
        self.windows: list[_Window] = []
        self.left: set[str] = set()
        self.presence_time = time.monotonic()

    def set_state(self, number: int, room: Room) -> None:
        """Set a newer state, and notify the windows."""
        if number > self.number:
            self.number, self.room = number, room
        for window in self.windows:
            window.changed.set()

    def presence_update(self) -> Callable[[Room], None]:
        """Return a function that records in a room who is here and who has left."""
        here, left, self.left = self.students(), self.left - self.students(), set()
        now, has_teacher = time.time(), any(window.voter is None for window in self.windows)
        self.presence_time = time.monotonic()

        def record(room: Room) -> None:
            room.update_presence(here, left, now)
            room.last_led = now if has_teacher else room.last_led

        return record

    def students(self) -> set[str]:
        """Return the students with windows here."""
        return {window.voter for window in self.windows if window.voter is not None}


class Rooms:
    """All rooms with windows in this process, and their store.

    Attributes:
        route: Route of the WebSocket, below `server.baseUrlPath`.
    """

    def __init__(self, store: Store) -> None:
        self.route = WebSocketRoute("/{below:path}room", self._visit)
        self._store = store
        self._live: dict[str, _LiveRoom] = {}
        self._thread = ThreadPoolExecutor(1, "rooms")
        self._retry_time = 0.0

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Watch the store while the server runs, and close it at the end."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            self._thread.shutdown(cancel_futures=True)
            self._store.close()

    # The store ----------------------------------------------------------------------------------------------

    async def _do(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Run a function of the store in the one thread that may block.

        Raises:
            StoreUnavailable: the store fails, or failed less than a second ago.
        """

        def in_thread() -> Result:
            if time.monotonic() < self._retry_time:
                raise StoreUnavailable
            try:
                return work(*arguments)
            except self._store.failures as error:
                logging.getLogger(__name__).warning("The rooms' store failed: %s", error)
                self._retry_time = time.monotonic() + 1
                raise StoreUnavailable from error

        return await asyncio.get_running_loop().run_in_executor(self._thread, in_thread)

    async def _change(self, typed: object, change: Callable[[Room], None]) -> str:
        """Change the room with this code, as typed; return the normalized code."""
        code = rooms.code(typed)
        number, room = await self._do(update, self._store, code, change)
        self._live.setdefault(code, _LiveRoom(number, room)).set_state(number, room)
        return code

    async def _watch(self) -> None:
        """Read the changes of other processes, report who is here, and delete ended rooms."""
        last_sweep, unavailable = -_SWEEP_SECONDS, False
        while True:
            try:
                if time.monotonic() - last_sweep > _SWEEP_SECONDS:
                    await self._do(self._store.sweep)
                    last_sweep = time.monotonic()
                if self._live:
                    await self._synchronize()
            except StoreUnavailable:
                if not unavailable:
                    self._to_all(_UNAVAILABLE)
                unavailable = True
            else:
                if unavailable:
                    self._to_all(None)
                unavailable = False
            await asyncio.sleep(_POLL_SECONDS)

    async def _synchronize(self) -> None:
        numbers = await self._do(self._store.numbers, list(self._live))
        for code, live in list(self._live.items()):
            if code not in numbers:
                self._close(code)
                continue
            if live.left or time.monotonic() - live.presence_time > _PRESENCE_SECONDS:
                with suppress(NoEntry):  # the room was just closed
                    await self._change(code, live.presence_update())
            elif numbers[code] > live.number and (found := await self._do(self._store.read, code)):
                live.set_state(found[0], Room.parse(found[1]))
            if not live.windows and not live.left:
                self._live.pop(code, None)

    def _close(self, code: str) -> None:
        live = self._live.pop(code, None)
        for window in live.windows if live else ():
            window.refuse("This room has ended.", fatal=True)

    def _to_all(self, reason: str | None) -> None:
        """Send an error to all windows; None sends the state again, which clears the error."""
        for window in [window for live in self._live.values() for window in live.windows]:
            if reason:
                window.refuse(reason)
            else:
                window.sent = None
                window.changed.set()

    # Windows ------------------------------------------------------------------------------------------------

    async def _visit(self, socket: WebSocket) -> None:
        if not _is_origin_allowed(socket.headers.get("Origin"), socket.headers.get("Host")):
            await socket.close(_FOREIGN)  # before accepting the connection, so that the response is 403
            return
        await socket.accept()
        with suppress(WebSocketDisconnect):
            try:
                code, live, window = await self._enter(socket)
            except Refused as reason:
                if isinstance(reason, NoEntry):
                    await asyncio.sleep(_REFUSAL_SECONDS)
                await _send(socket, {"error": str(reason), "fatal": True})
                await socket.close(_CLOSED)
            except StoreUnavailable:
                await _send(socket, {"error": _UNAVAILABLE, "fatal": False})
                await socket.close(_TRY_AGAIN)
            except TimeoutError:
                await socket.close(_CLOSED)
            else:
                await self._stay(code, live, window)

    async def _enter(self, socket: WebSocket) -> tuple[str, _LiveRoom, _Window]:
        window = _Window(socket)
        code = await self._admit(window, await _received(socket, _FIRST_SECONDS))
        live = self._live[code]
        live.windows.append(window)
        return code, live, window

    async def _admit(self, window: _Window, first: dict[str, Any]) -> str:
        def join(room: Room) -> None:
            window.voter = room.voter(first.get("voter"))
            room.join(window.voter, time.time())

        match first:
            case {"do": "open"}:
                return await self._open(window)
            case {"do": "teach", "room": typed, "key": key}:
                return await self._change(typed, lambda room: room.teach(key, time.time()))
            case {"do": "join", "room": typed}:
                return await self._change(typed, join)
        raise NoEntry(rooms.INVALID_MESSAGE)

    async def _open(self, window: _Window) -> str:
        room, key = rooms.new_room(time.time())
        code = await self._do(add, self._store, room)
        await _send(window.socket, {"room": code, "key": key})
        self._live[code] = _LiveRoom(1, room)
        return code

    async def _stay(self, code: str, live: _LiveRoom, window: _Window) -> None:
        sending = asyncio.create_task(window.send(live))
        try:
            while True:
                try:
                    message = await _received(window.socket, _AWAKE_SECONDS)
                except Refused as reason:
                    message = {"do": "here"}
                    window.refuse(str(reason))
                if not window.exceeds_rate_limit() and message != {"do": "here"}:
                    await self._handle(code, window, message)
        except TimeoutError:  # for example because a phone is asleep
            if not sending.done():
                await window.socket.close(_TRY_AGAIN)
        finally:
            sending.cancel()
            live.windows.remove(window)
            if window.voter and window.voter not in live.students():
                live.left.add(window.voter)

    async def _handle(self, code: str, window: _Window, message: dict[str, Any]) -> None:
        def change(room: Room) -> None:
            if window.voter is None:
                room.lead(message)
            else:
                room.answer(window.voter, message)

        try:
            if window.voter is None and message == {"do": "end"}:
                await self._do(self._store.delete, code)
                self._close(code)
            else:
                await self._change(code, change)
        except StoreUnavailable:
            window.refuse(_UNAVAILABLE)
        except NoEntry:
            self._close(code)
        except Refused as reason:
            window.refuse(str(reason))


async def _received(socket: WebSocket, seconds: float) -> dict[str, Any]:
    """Return the next message.

    Raises:
        Refused: the message is too long, or not a JSON object.
        TimeoutError: no message arrived in time.
        WebSocketDisconnect: the socket was closed, or is closed here because the message is far too long.
    """
    received = await asyncio.wait_for(socket.receive(), seconds)
    if received["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(received["code"])
    text = received.get("text") or ""
    size = len(received.get("bytes") or text.encode())
    if size > _MAX_RECEIVED_BYTES:
        await socket.close(_TOO_LARGE)
        raise WebSocketDisconnect(_TOO_LARGE)
    with suppress(ValueError, RecursionError):
        if size <= _MAX_BYTES and isinstance(message := json.loads(text), dict):
            return message
    raise Refused(rooms.INVALID_MESSAGE)


async def _send(socket: WebSocket, message: dict[str, Any]) -> None:
    await socket.send_text(json.dumps(message))
