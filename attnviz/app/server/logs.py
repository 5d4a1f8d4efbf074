"""The format of the log: text, or lines of JSON without visitors' input."""

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
"""The environment variable with the format of the log: "text" (default) or "json"."""


def apply() -> None:
    """Set the format of this process's log.

    Raises:
        WrongSetting: the format is unknown.
    """
    form = os.environ.get(SETTING, "text")
    if form not in ("text", "json"):
        raise WrongSetting(f"{SETTING} must be text or json, not “{form}”.")
    for name in ("streamlit.web.server.starlette.starlette_websocket", "streamlit.error_util"):
        logging.getLogger(name).addFilter(_shorten)
    if form == "json":
        # Replaced in all handlers, because Streamlit and uvicorn have their own, with their own formats.
        setattr(logging.Handler, "format", lambda _, record: line(record))  # noqa: B010 - replaced on purpose
        logging.captureWarnings(capture=True)
        threading.excepthook = lambda fault: logging.getLogger(__name__).error(
            "A thread failed.", exc_info=fault.exc_value
        )


def _shorten(record: logging.LogRecord) -> bool:
    """Remove the traceback if a client sent an invalid message or widget value; keep every record."""
    if record.exc_info and (fault := record.exc_info[1]):
        frames = traceback.extract_tb(fault.__traceback__)
        if isinstance(fault, DecodeError) or "on_script_will_rerun" in [frame.name for frame in frames]:
            record.exc_info = None
    return True


def line(record: logging.LogRecord) -> str:
    """Format a record as one JSON object on one line.

    Includes an exception's type and traceback, but not its message, which can quote visitors' input.
    Arguments of other libraries' messages can also quote input, so only the first line of the message
    template is written (asyncio includes an exception's message in the second line).
    """
    is_own = record.name.partition(".")[0] == "attnviz"
    entry: dict[str, Any] = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": record.getMessage() if is_own else str(record.msg).partition("\n")[0],
    }
    if record.exc_info and (fault := record.exc_info[1]):
        frames = traceback.extract_tb(fault.__traceback__)
        entry |= {
            "exception": type(fault).__qualname__,
            "raised": [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames],
        }
    return json.dumps(entry, ensure_ascii=False)
