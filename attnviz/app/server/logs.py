"""The log as lines of JSON, without anything that a visitor typed."""

import json
import logging
import os
import threading
import time
import traceback
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # it has no types

from attnviz.errors import WrongSetting

SETTING = "ATTNVIZ_LOG"
"""The environment variable with the log's format: "text", or "json"."""


def apply() -> None:
    """Write the log of this process as the operator wants it.

    Raises:
        WrongSetting: it can be written in no such way.
    """
    form = os.environ.get(SETTING, "text")
    if form not in ("text", "json"):
        raise WrongSetting(f"{SETTING} should be text or json, and is “{form}”.")
    logging.getLogger("streamlit.web.server.starlette.starlette_websocket").addFilter(_shorten)
    if form == "json":
        # Streamlit and uvicorn make handlers of their own, each with its own format.
        setattr(logging.Handler, "format", lambda _, record: line(record))  # noqa: B010 - replaced on purpose
        logging.captureWarnings(capture=True)
        threading.excepthook = lambda fault: logging.getLogger(__name__).error(
            "A thread failed.", exc_info=fault.exc_value
        )


def _shorten(record: logging.LogRecord) -> bool:
    """Omit the traceback of an unreadable message: it is not about this server."""
    if record.exc_info and isinstance(record.exc_info[1], DecodeError):
        record.exc_info = None
    return True


def line(record: logging.LogRecord) -> str:
    """One object on one line.

    Of an exception its kind, and where it was raised: its message can quote a visitor. So can what other
    libraries put into their messages: of the template, only the first line is written. Asyncio puts a
    fault's own words into the second.
    """
    ours = record.name.partition(".")[0] == "attnviz"
    entry: dict[str, Any] = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": record.getMessage() if ours else str(record.msg).partition("\n")[0],
    }
    if record.exc_info and (fault := record.exc_info[1]):
        frames = traceback.extract_tb(fault.__traceback__)
        entry |= {
            "exception": type(fault).__qualname__,
            "raised": [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames],
        }
    return json.dumps(entry, ensure_ascii=False)
