"""Puts arrays into the visitor's browser, where the widgets draw from them without asking again."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from attnviz.app.components.component import mount
from attnviz.widgets.arrays import Packed, packed


def publish(key: str, arrays: dict[str, NDArray[Any]], /, **facts: Any) -> str:
    """Sends arrays to the browser, and returns the name under which the widgets find them there.

    The widgets may stand before or after this call on the page: they wait. The same contents get the same
    name, and nothing is sent again. The browser keeps the two latest sets of each key.

    Args:
        key: Streamlit's key of this store.
        arrays: by name; uint8 or float32, any shape.
        facts: what the widgets need to know about the arrays; plain JSON values.

    Raises:
        TypeError: an array is neither uint8 nor float32.
    """
    return send(key, packed(key, arrays, facts))


def send(key: str, message: Packed) -> str:
    """`publish` for arrays that are packed already, with the same key."""
    mount("store", key, message.data)
    return message.id
