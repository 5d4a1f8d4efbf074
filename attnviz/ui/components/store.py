"""Puts arrays into the visitor's browser, where the widgets draw from them without asking again."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.ui.components.component import component

_mount = component("store")

_DTYPES = ("uint8", "float32")


def publish(key: str, arrays: dict[str, NDArray[Any]], /, **facts: Any) -> str:
    """Sends arrays to the browser, and returns the name under which the widgets find them there.

    The widgets may stand before or after this call on the page: they wait. The same contents get the
    same name, and nothing is sent again. The browser keeps the two latest sets of each key.

    Everything travels as one run of bytes, with nothing to unpack or to convert (a float in JSON takes
    20 bytes, bytes in JSON become text):

        length of the header (uint32, little endian) | header (JSON, UTF-8) | the arrays, one after the other

    Args:
        key: Streamlit's key of this store.
        arrays: by name; uint8 or float32, any shape.
        facts: what the widgets need to know about the arrays; plain JSON values.

    Raises:
        TypeError: an array is neither uint8 nor float32.
    """
    described, contents = [], []
    offset = 0
    for name, array in arrays.items():
        if array.dtype.name not in _DTYPES:
            raise TypeError(f"{name} is {array.dtype.name}; a store holds {' or '.join(_DTYPES)}.")
        data = np.ascontiguousarray(array).tobytes()
        described.append(
            {
                "name": name,
                "dtype": array.dtype.name,
                "shape": array.shape,
                "offset": offset,
                "length": len(data),
            }
        )
        contents.append(data)
        offset += len(data)
    header: dict[str, Any] = {"key": key, "arrays": described, "facts": facts}
    digest = hashlib.sha1(json.dumps(header, sort_keys=True).encode(), usedforsecurity=False)
    for data in contents:
        digest.update(data)
    header["id"] = digest.hexdigest()
    text = json.dumps(header).encode()
    _mount(key=key, data=b"".join((len(text).to_bytes(4, "little"), text, *contents)))
    return str(header["id"])
