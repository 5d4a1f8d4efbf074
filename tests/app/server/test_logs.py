"""The log as JSON."""

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


def said(name: str, message: str, *parts: object) -> dict[str, Any]:
    record = logging.LogRecord(name, logging.ERROR, "file.py", 1, message, parts, sys.exc_info())
    record.created, record.msecs = 1.5, 500
    line = logs.line(record)
    assert SENTENCE not in line
    assert "\n" not in line
    told: dict[str, Any] = json.loads(line)
    return told


def test_a_fault_is_told_by_its_kind_and_place_and_not_by_what_it_says() -> None:
    try:
        float(SENTENCE)
    except ValueError:
        told = said("attnviz.app.server.jobs", "It failed.")
    [place] = told.pop("raised")
    assert place.startswith(f"{__file__}:")
    assert told == {
        "time": "1970-01-01T00:00:01.500Z",
        "level": "error",
        "logger": "attnviz.app.server.jobs",
        "message": "It failed.",
        "exception": "ValueError",
    }


def test_of_other_libraries_messages_only_the_template_is_written() -> None:
    assert said("streamlit.state", "Cannot read %s\nas %s.", SENTENCE, "x")["message"] == "Cannot read %s"
    asyncios = f"Task exception was never retrieved\nfuture: ValueError('{SENTENCE}')"
    assert said("asyncio", asyncios)["message"] == "Task exception was never retrieved"
    assert said("attnviz.app.rooms", "The store fails: %s", "full")["message"] == "The store fails: full"


def test_a_value_that_no_browser_sends_writes_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    logs.apply()
    session = SessionState()
    deserialize: Any = NumberInputSerde(value=4, data_type=0, min_value=1, max_value=6).deserialize
    session._new_widget_state.widget_metadata["box"] = WidgetMetadata(
        id="box", deserializer=deserialize, serializer=lambda value: value, value_type="double_value"
    )
    forged = WidgetStates(widgets=[WidgetState(id="box", string_value=SENTENCE)])
    for act in (lambda: session.on_script_will_rerun(forged), lambda: float(SENTENCE)):
        with pytest.raises(ValueError, match="walrus") as raised:
            act()
        handle_uncaught_app_exception(raised.value)
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert [bool(record.exc_info) for record in errors] == [False, True]
