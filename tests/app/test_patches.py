"""The corrections of Streamlit."""

import asyncio
import socket
import time
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner import ScriptRunnerEvent
from streamlit.runtime.session_manager import SessionClientDisconnectedError
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette import starlette_server

from attnviz.app import patches


def page() -> None:
    import streamlit as st

    from attnviz.app import patches

    patches.apply()
    st.text(st.number_input("whole", 1, 6, 4, key="whole", bind="query-params"))
    st.text(st.number_input("real", 0.5, 2.0, 1.0, key="real", bind="query-params"))
    st.text(st.slider("slider", 1, 6, 3, key="slider", bind="query-params"))
    st.markdown("Not 4-2: **14 %**, > 99.9 % of 3 > 2.")


@pytest.mark.parametrize("number", ["inf", "-inf", "Infinity", "1e999", "nan", "9" * 400])
def test_a_number_that_is_not_finite_gives_the_default(number: str) -> None:
    app = AppTest.from_function(page)
    for name in ("whole", "real", "slider"):
        app.query_params[name] = number
    app.run()
    assert not app.exception
    assert [text.value for text in app.text] == ["4", "1.0", "3"]
    assert not {"whole", "real", "slider"} & set(app.query_params)


def test_no_line_breaks_within_a_percentage() -> None:
    [text] = AppTest.from_function(page).run().markdown
    assert text.value == "Not 4-2: **14\u00a0%**, >\u00a099.9\u00a0% of 3 > 2."


def test_the_values_of_a_visit_are_what_streamlit_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SafeSessionState, "filtered_state", SafeSessionState.filtered_state)
    patches.apply()
    visit = SafeSessionState(SessionState(), lambda: None)
    visit["a"], visit["b"] = 1, None
    assert dict(visit.filtered_state) == visit._state.filtered_state == {"a": 1, "b": None}
    assert len(visit.filtered_state) == 2
    assert "a" in visit.filtered_state
    assert "c" not in visit.filtered_state


def test_under_a_widgets_key_stands_what_came_with_its_triggers() -> None:
    value = patches._with_triggers("its triggers", "its name", None)
    visit = SessionState()
    assert value({"a": 1}, visit) == {"a": 1}
    came: list[dict[str, Any]] = [{"event": "pick", "value": {"at": 2}}, {"event": "a", "value": 3}]
    visit._new_widget_state.set_from_value("its triggers", came)
    assert value({"a": 1}, visit) == {"pick": {"at": 2}, "a": 1}


def test_a_visit_keeps_only_its_last_files() -> None:
    patches.apply()
    manager = MemoryUploadedFileManager("/upload")
    for number in range(11):
        manager.add_file("visit", UploadedFileRec(str(number), "name", "text/plain", b"x" * 7))
    manager.add_file("visit", UploadedFileRec("10", "name", "text/plain", b"x" * 5))
    assert list(manager.file_storage["visit"]) == [str(number) for number in range(3, 11)]
    assert manager._total_bytes == 7 * 7 + 5


def test_an_answer_is_sent_without_waiting_for_the_browser_to_acknowledge_its_beginning() -> None:
    patches.apply()
    listening = starlette_server._bind_socket("127.0.0.1", 0, 1)
    with listening, socket.create_connection(listening.getsockname()):
        listening.setblocking(True)
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_elements_of_a_page_are_handed_over_together_and_its_end_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run's elements come in order, and wake the event loop once; its end does not wait."""
    monkeypatch.setattr(patches, "_GATHERED_SECONDS", 0.2)
    heard: list[tuple[ScriptRunnerEvent, Any]] = []
    woken = 0

    async def serve(*events: ScriptRunnerEvent) -> float:
        loop = asyncio.get_running_loop()

        def wake(callback: Any) -> None:
            nonlocal woken
            woken += 1
            loop.call_soon_threadsafe(callback)

        session = SimpleNamespace(
            _event_loop=loop,
            _call_soon_on_event_loop=wake,
            _handle_scriptrunner_event_on_event_loop=lambda _, event, forward_msg: heard.append(
                (event, forward_msg)
            ),
        )

        def page() -> None:
            for number, event in enumerate(events):
                patches._gather(session, None, event, forward_msg=number)  # type: ignore[arg-type]

        begun = time.monotonic()
        await loop.run_in_executor(None, page)
        while len(heard) < len(events):
            await asyncio.sleep(0.01)
        return time.monotonic() - begun

    element, end = ScriptRunnerEvent.ENQUEUE_FORWARD_MSG, ScriptRunnerEvent.SCRIPT_STOPPED_WITH_SUCCESS
    assert asyncio.run(serve(*[element] * 100)) >= 0.2
    assert heard == [(element, number) for number in range(100)]
    assert woken == 1
    heard.clear()
    assert asyncio.run(serve(element, element, end)) < 0.2
    assert heard == [(element, 0), (element, 1), (end, 2)]


def test_a_browser_gets_its_messages_in_order_and_those_that_it_cannot_take_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = list[int]()

    def send(_: object, message: int) -> None:
        if message == 103:
            raise SessionClientDisconnectedError
        sent.append(message)

    manager = SimpleNamespace(get_active_session_info={"here": "its browser"}.get)
    runtime = SimpleNamespace(_session_mgr=manager, _send_message=send)
    monkeypatch.setattr(Runtime, "instance", lambda: runtime)

    def left(name: str, messages: range) -> list[int]:
        queue = SimpleNamespace(flush=lambda: list(messages))
        session: Any = SimpleNamespace(id=name, _browser_queue=queue)
        return patches._send(session)  # type: ignore[return-value]

    assert left("here", range(101)) == [100]
    assert left("here", range(101, 107)) == [103, 104, 105, 106]
    assert left("gone", range(3)) == [0, 1, 2]
    assert sent == [*range(100), 101, 102]


def test_what_is_written_in_one_turn_of_the_event_loop_goes_out_by_one_call() -> None:
    calls = list[bytes | str]()
    connection: Any = SimpleNamespace(
        write=calls.append, close=lambda: calls.append("closed"), is_closing=lambda: False
    )

    async def write() -> None:
        together = patches._Together(connection)
        together.write(b"a")
        together.write(b"b")
        await asyncio.sleep(0)
        assert calls == [b"ab"]
        assert not together.is_closing()
        together.write(b"c")
        together.close()
        await asyncio.sleep(0)

    asyncio.run(write())
    assert calls == [b"ab", b"c", "closed"]


def test_the_theme_is_what_streamlit_writes() -> None:
    written, copied = NewSession(), NewSession()
    for message, write in ((written, patches._write_theme), (copied, patches._copy_theme)):
        write(message.custom_theme)
        write(message.custom_theme.light, "theme.light")
        write(message.custom_theme.sidebar, "theme.sidebar")
    assert copied == written
    assert copied.custom_theme.light.primary_color == "#4338ca"
    assert not copied.custom_theme.HasField("sidebar")
