"""Send arrays to the browser, where widgets can draw them without another request."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from attnviz.app.components.component import mount
from attnviz.widgets.arrays import Packed, packed


def publish(key: str, arrays: dict[str, NDArray[Any]], /, **facts: Any) -> str:
    """Send arrays to the browser, and return their store id.

    Widgets can be drawn before or after this call: they wait for the arrays. Equal contents have the
    same id and are not sent again. The browser keeps the two latest sets of each key.

    Args:
        key: Streamlit key of this store.
        arrays: Arrays by name; uint8 or float32, any shape.
        facts: Metadata of the arrays, as JSON values.

    Raises:
        TypeError: an array is neither uint8 nor float32.
    """
    return send(key, packed(key, arrays, facts))


def send(key: str, message: Packed) -> str:
    """Send packed arrays, as `publish` does, and return their id; `key` must equal the packed key."""
    mount("store", key, message.data)
    return message.id
