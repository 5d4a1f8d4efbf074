"""Changes of Streamlit 1.67, and of how its web server writes, which no setting makes."""

import asyncio
import re
import socket
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from streamlit import net_util
from streamlit.components.v2.bidi_component import main, serialization
from streamlit.elements import markdown
from streamlit.elements.widgets.number_input import Number, NumberInputSerde
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner import ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.session_manager import SessionClientDisconnectedError
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.common import unpack_widget_state_value
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.string_util import clean_text
from streamlit.web.server.starlette import starlette_server
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from attnviz.app import head_names, references

MOST_UPLOADS = 8
"""The most files of one visit; a page has one box for one file."""

MAX_UPLOADED_BYTES = 100_000_000
"""The most that the files of all visits take; the oldest goes first."""

_GATHERED_SECONDS = 0.01  # how long an element of a page waits for those behind it

_MOST_AT_ONCE = 100  # elements; Streamlit gives a browser up for which 500 wait

_IN_PERCENTAGE = re.compile(r"(?<=[<>]) (?=[\d.]+ %)|(?<=\d) (?=%)")

_bind = starlette_server._bind_socket  # noqa: SLF001 - private
_add_file = MemoryUploadedFileManager.add_file
_connection_made = WebSocketsSansIOProtocol.connection_made
_flush = AppSession.flush_browser_queue
_write_theme = app_session._populate_theme_msg  # noqa: SLF001 - private
_deserialize = NumberInputSerde.deserialize
_take_values = SessionState.on_script_will_rerun
_all_values: Callable[[SafeSessionState], dict[str, Any]] = vars(SafeSessionState)["filtered_state"].fget


def apply() -> None:
    """Change the Streamlit of this process; doing it again changes nothing."""
    # Streamlit would run a file of the folder `pages` on its own, without app.py, for the first visitor.
    PagesManager.uses_pages_directory = False
    setattr(markdown, "clean_text", _finished)  # noqa: B010 - for the type checker: it is imported there
    # When another site's page opens a websocket to this server, Streamlit asks an outside host for this
    # machine's address before it refuses. The whole server waits for the answer: 5 to 20 s without a network.
    net_util.get_external_ip = _no_address
    setattr(starlette_server, "_bind_socket", _bind_without_delay)  # noqa: B010 - private
    MemoryUploadedFileManager.add_file = _add_one_of_few  # type: ignore[method-assign]  # replaced on purpose
    NumberInputSerde.deserialize = _finite  # type: ignore[method-assign]  # replaced on purpose
    setattr(SessionState, "on_script_will_rerun", _take_possible_values)  # noqa: B010 - this too
    setattr(AppSession, "_on_scriptrunner_event", _gather)  # noqa: B010 - private
    setattr(Runtime, "_enqueued_some_message", _wake)  # noqa: B010 - private
    setattr(AppSession, "flush_browser_queue", _send)  # noqa: B010 - for the type checker: replaced on purpose
    setattr(WebSocketsSansIOProtocol, "connection_made", _connect)  # noqa: B010 - this too
    setattr(app_session, "_populate_theme_msg", _copy_theme)  # noqa: B010 - private
    # Streamlit tries each part of a widget's message: is it a table? None is, and all is sent as JSON.
    setattr(serialization, "is_dataframe_like", _no_table)  # noqa: B010 - it is imported there
    setattr(main, "make_bidi_component_presenter", _with_triggers)  # noqa: B010 - this too
    SafeSessionState.filtered_state = property(_Values)  # type: ignore[assignment, method-assign]  # this too


def _finished(body: object) -> str:
    """What `st.markdown` and `st.caption` draw: works and heads are linked, and "< 1 %" stays on one line."""
    text = head_names.linked(references.linked(clean_text(body)))
    return _IN_PERCENTAGE.sub("\N{NO-BREAK SPACE}", text)


def _no_address() -> None:
    """What Streamlit takes for "unknown"."""


def _bind_without_delay(address: str, port: int, backlog: int) -> socket.socket:
    """Listen, and send each answer at once.

    Else the system keeps the end of an answer back until the browser has acknowledged its beginning, which
    browsers do up to 40 ms later. Connections have what is set for the socket that listens.
    """
    listening = _bind(address, port, backlog)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _add_one_of_few(self: MemoryUploadedFileManager, session_id: str, file: UploadedFileRec) -> None:
    """Keep a file that a browser sent, under whatever name it chose; forget the oldest beyond the bounds."""
    others = [name for name in self.file_storage.get(session_id, {}) if name != file.file_id]
    for oldest in others[: 1 - MOST_UPLOADS]:
        self.remove_file(session_id, oldest)
    kept = [(visit, each) for visit, files in self.file_storage.items() for each in files.values()]
    held = sum(len(each.data) for _, each in kept) + len(file.data)
    for visit, each in kept:
        if held > MAX_UPLOADED_BYTES:
            self.remove_file(visit, each.file_id)
            held -= len(each.data)
    _add_file(self, session_id, file)


def _finite(self: NumberInputSerde, ui_value: Number | None) -> Number | None:
    """An infinite number in a link (`?layer=inf`) is refused like any other that is out of range."""
    try:
        return _deserialize(self, ui_value)
    except OverflowError as error:
        raise ValueError(str(error)) from error


_NUMBERS = {"int_value", "double_value"}  # a box for numbers sends either


def _take_possible_values(self: SessionState, fresh: WidgetStates | None, **others: Any) -> None:
    """Take what a browser says of the widgets, without values that a widget cannot have.

    No browser sends such a value. A program that does would fill the log with tracebacks.
    """
    if fresh is not None:
        fresh = WidgetStates(widgets=[each for each in fresh.widgets if _is_possible(self, each)])
    _take_values(self, fresh, **others)


def _is_possible(visit: SessionState, state: WidgetState) -> bool:
    widget = visit._new_widget_state.widget_metadata.get(state.id)  # noqa: SLF001 - private
    if widget is None:  # of another page: Streamlit ignores it
        return True
    sent = state.WhichOneof("value")  # None: a box is empty
    if sent not in (None, widget.value_type) and not {sent, widget.value_type} <= _NUMBERS:
        return False
    try:
        widget.deserializer(unpack_widget_state_value(state))
    except Exception:  # noqa: BLE001 - whatever each widget's own code raises
        return False
    return True


def _no_table(_: object) -> bool:
    return False


def _with_triggers(triggers: str, *_: object) -> Callable[[dict[str, Any], SessionState], dict[str, Any]]:
    """What makes the value that stands under a widget's key: what came with its triggers.

    Streamlit makes a class for each value, some twenty in a run of Explore; they were most of its garbage.

    Args:
        triggers: under which name they are kept.
    """

    def value(state: dict[str, Any], visit: SessionState) -> dict[str, Any]:
        told = visit._new_widget_state.get(triggers)  # noqa: SLF001 - nothing public has it by this name
        return {each["event"]: each["value"] for each in told or ()} | state

    return value


def _gather(self: AppSession, sender: ScriptRunner, event: ScriptRunnerEvent, **told: Any) -> None:
    """Hand what a page's run says to the server's event loop: elements together, beginning and end at once.

    Streamlit wakes the event loop for each of a page's hundred elements.
    """
    said: deque[Callable[[], None]] = vars(self).setdefault("_said", deque())

    def hand_over() -> None:
        while said:
            said.popleft()()

    def hand_over_later() -> None:
        self._event_loop.call_later(_GATHERED_SECONDS, hand_over)

    said.append(lambda: self._handle_scriptrunner_event_on_event_loop(sender, event, **told))
    if event != ScriptRunnerEvent.ENQUEUE_FORWARD_MSG:
        self._call_soon_on_event_loop(hand_over)
    elif len(said) == 1:
        self._call_soon_on_event_loop(hand_over_later)


def _wake(self: Runtime) -> None:
    """Say that there is something to send; Streamlit wakes the event loop even from itself, by a socket."""
    waiting = self._get_async_objs()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        waiting.eventloop.call_soon_threadsafe(waiting.need_send_data.set)
    else:
        waiting.need_send_data.set()


def _send(self: AppSession) -> list[ForwardMsg]:
    """Send the browser what waits for it, together; return what is left, which Streamlit sends one by one.

    Streamlit lets all else on the server go on after each element.
    """
    messages, sent = _flush(self), 0
    runtime = Runtime.instance()
    session = runtime._session_mgr.get_active_session_info(self.id)  # noqa: SLF001 - nothing public finds it
    if session is None:
        return messages
    with suppress(SessionClientDisconnectedError):  # Streamlit finds out by the first that is left
        for message in messages[:_MOST_AT_ONCE]:
            runtime._send_message(session, message)  # noqa: SLF001 - private
            sent += 1
    return messages[sent:]


class _Together:
    """A connection that hands what is written in one turn of the event loop to the system by one call.

    Each call lets other threads run Python first, and one that computes keeps it for 5 ms.
    """

    def __init__(self, connection: asyncio.Transport) -> None:
        self._connection = connection
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def write(self, data: bytes) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._waiting.append(data)

    def close(self) -> None:
        self._hand_over()
        self._connection.close()

    def _hand_over(self) -> None:
        if self._waiting:
            self._connection.write(b"".join(self._waiting))
            self._waiting.clear()


def _connect(self: WebSocketsSansIOProtocol, transport: asyncio.Transport) -> None:
    _connection_made(self, _Together(transport))  # type: ignore[arg-type]  # it has all that is asked of it


def _copy_theme(message: CustomThemeConfig, section: str = "theme") -> None:
    """Write a section of the theme into a message; no run of a page changes it."""
    if (theme := _theme(section)).ByteSize():
        message.MergeFrom(theme)


@cache
def _theme(section: str) -> CustomThemeConfig:
    theme = CustomThemeConfig()
    _write_theme(theme, section)
    return theme


class _Values(Mapping[str, Any]):
    """What stands under the keys of a visit, each value made when it is asked for.

    Streamlit makes all of them for each box that it draws, and looks at one. Those of our widgets cost a
    tenth of a rerun's processor time.
    """

    def __init__(self, state: SafeSessionState) -> None:
        self._state = state

    def __getitem__(self, key: str) -> Any:
        return self._state[key]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._state

    def __iter__(self) -> Iterator[str]:
        return iter(_all_values(self._state))

    def __len__(self) -> int:
        return len(_all_values(self._state))
