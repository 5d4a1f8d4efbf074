"""Load the widgets' code in the browser once, mount widgets, and receive their messages."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
import streamlit as st

from attnviz.app import saving
from attnviz.app.server import assets
from attnviz.app.state import memory

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_NO_PICTURES = ("copy_link", "passage", "room_bar")
_STUB = Path(__file__).with_name("stub.js").read_text("utf-8")

Arguments = ParamSpec("Arguments")


def widget(draw: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Decorate a function without a body, so that a call mounts the widget of the same name.

    The first argument is the Streamlit key of the widget, arguments that begin with "on_" are listeners, and
    all others form the message.
    """
    name, signature = draw.__name__, inspect.signature(draw)

    @wraps(draw)
    def mounted(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        key, *_ = bound.args
        message = dict(list(bound.arguments.items())[1:])
        listeners = {each: message.pop(each) for each in list(message) if each.startswith("on_")}
        if "filename" in message:
            message["filename"] = saving.with_sentence(message["filename"])
        mount(name, key, message, **listeners)

    return mounted


def mount(
    name: str, key: str, message: Mapping[str, object] | bytes, /, **listeners: Callable[..., None] | None
) -> None:
    """Mount a widget on the page, or update its message.

    Args:
        name: Export name of the widget in `attnviz/app/widgets.js`.
        key: Streamlit key of this widget.
        message: Data that the widget draws: bytes; or JSON values, NumPy arrays and dataclasses of these, by
            name. Without "filename", `saving.picture_file` derives the file name from "title",
            "about" and "omitted".
        listeners: Functions by name: `on_pick` is called when the widget triggers "pick", with the values of
            the trigger, in the widget's order.
    """
    data: Any = message
    if isinstance(message, Mapping):
        data = {part: _plain(value) for part, value in message.items()}
        if "filename" not in data and name not in _NO_PICTURES:
            title, about, omitted = data.get("title", ""), data.pop("about", ""), data.pop("omitted", "")
            data["file"] = saving.picture_file(key, title, about, omitted)
        data = [data]  # Streamlit searches the values of a mapping for tables, but not those of a list
    callbacks: dict[str, Any] = {f"{on}_change": _callback(listeners, key, on) for on in listeners}
    _renderer(name)(key=key, data=data, **callbacks)


def _callback(listeners: Mapping[str, Callable[..., None] | None], key: str, on: str) -> Callable[[], None]:
    """Return the callback that Streamlit calls when a widget triggers an event.

    A message also restores the values that Streamlit's own controls had when it was sent, which would undo
    another widget's choice that Python has not received yet. The message therefore contains that choice as
    "also", and the other listeners of the sending widget receive it first.
    """

    def call() -> None:
        values = memory.received(key, on.removeprefix("on_"))
        if values is None:  # the widget was removed from the page before the message arrived
            return
        for name, listener in listeners.items():
            if listener and name != on and "also" in values:
                listener(*values["also"].values())
        if listener := listeners[on]:
            listener(*(value for name, value in values.items() if name != "also"))

    return call


def _plain(value: object) -> object:
    """Convert a value to types that the json module accepts."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(each) if is_dataclass(each) else each for each in value]
    if is_dataclass(value):
        return {name: _plain(part) for name, part in vars(value).items()}
    return value


@cache
def _renderer(name: str) -> ComponentRenderer:
    """Return Streamlit's function that mounts the widget.

    Streamlit sends a widget's script with each of its messages, so the script is only `stub.js`, which calls
    the code that `send_code` has loaded.
    """
    return st.components.v2.component(f"attnviz.{name}", js=_STUB.replace('"NAME"', json.dumps(name)))


def send_code() -> None:
    """Load the code and the styles of all widgets in the browser; every page calls this."""
    _code()(key="code")


@cache
def _code() -> ComponentRenderer:
    url = f"new URL({json.dumps(assets.WIDGETS)}, document.baseURI)"
    script = f"const {{ default: code }} = await import({url});\nexport default code;\n"
    return st.components.v2.component("attnviz.code", js=script)
