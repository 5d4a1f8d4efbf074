"""The log as JSON."""

import json
import logging
import sys
from typing import Any

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
