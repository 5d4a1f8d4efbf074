"""The JSON log."""

import json
import logging
import sys
from typing import Any

import pytest
from streamlit.elements.widgets.number_input import NumberInputSerde
from streamlit.error_util import handle_uncaught_app_exception
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.common import WidgetMetadata

from attnviz.app.server import logs

SENTENCE = "The walrus is tired."


def log_entry(name: str, message: str, *parts: object) -> dict[str, Any]:
    record = logging.LogRecord(name, logging.ERROR, "file.py", 1, message, parts, sys.exc_info())
    record.created, record.msecs = 1.5, 500
    line = logs.line(record)
    assert SENTENCE not in line
    assert "\n" not in line
    entry: dict[str, Any] = json.loads(line)
    return entry


def test_exception_is_logged_by_type_and_place_without_its_message() -> None:
    try:
        float(SENTENCE)
    except ValueError:
        entry = log_entry("attnviz.app.server.jobs", "It failed.")
    [place] = entry.pop("raised")
    assert place.startswith(f"{__file__}:")
    assert entry == {
        "time": "1970-01-01T00:00:01.500Z",
        "level": "error",
        "logger": "attnviz.app.server.jobs",
        "message": "It failed.",
        "exception": "ValueError",
    }


def test_only_the_template_of_other_libraries_messages_is_logged() -> None:
    assert (
        log_entry("streamlit.state", "Cannot read %s\nas %s.", SENTENCE, "x")["message"] == "Cannot read %s"
    )
    asyncio_message = f"Task exception was never retrieved\nfuture: ValueError('{SENTENCE}')"
    assert log_entry("asyncio", asyncio_message)["message"] == "Task exception was never retrieved"
    assert log_entry("attnviz.app.rooms", "The store fails: %s", "full")["message"] == "The store fails: full"


def test_forged_widget_value_logs_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    logs.apply()
    session = SessionState()
    deserialize: Any = NumberInputSerde(value=4, data_type=0, min_value=1, max_value=6).deserialize
    session._new_widget_state.widget_metadata["box"] = WidgetMetadata(
        id="box", deserializer=deserialize, serializer=lambda value: value, value_type="double_value"
    )
    forged = WidgetStates(widgets=[WidgetState(id="box", string_value=SENTENCE)])
    for action in (lambda: session.on_script_will_rerun(forged), lambda: float(SENTENCE)):
        with pytest.raises(ValueError, match="walrus") as raised:
            action()
        handle_uncaught_app_exception(raised.value)
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert [bool(record.exc_info) for record in errors] == [False, True]
