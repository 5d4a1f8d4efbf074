"""Binary serialization of arrays for the browser."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_DTYPES = ("uint8", "float32")


class Packed(NamedTuple):
    """Serialized arrays, as read by `store.js`.

    Attributes:
        id: Digest of the contents.
        data: The bytes.
    """

    id: str
    data: bytes


def packed(key: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Packed:
    """Pack arrays into bytes; JSON would take about 20 bytes per float.

        length of the header (uint32, little endian) | header (JSON, UTF-8) | contents of the arrays, in order

    Args:
        key: Name of this set of arrays; the browser keeps the two latest sets of each name.
        arrays: Arrays by name: uint8 or float32, of any shape.
        facts: Metadata of the arrays for the widgets, as JSON values.

    Raises:
        TypeError: an array is neither uint8 nor float32.
    """
    described, contents = [], []
    offset = 0
    for name, array in arrays.items():
        if array.dtype.name not in _DTYPES:
            raise TypeError(f"{name} is {array.dtype.name}; only {' and '.join(_DTYPES)} are supported.")
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
    return Packed(str(header["id"]), b"".join((len(text).to_bytes(4, "little"), text, *contents)))
