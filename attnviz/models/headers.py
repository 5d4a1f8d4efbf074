"""How many numbers a safetensors file holds, read from its first bytes alone."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, BinaryIO

from attnviz.errors import ModelFilesDamaged, quoted

MOST_HEADER_BYTES = 25_000_000
"""The longest header that is read. Those of models that fit into a common machine have less than 1 MB."""

_LENGTH_BYTES = 8  # a header begins with its own length, as a little-endian integer

# Bytes of one number, by the format's name for its kind.
_SIZES = {
    "F64": 8,
    "F32": 4,
    "F16": 2,
    "BF16": 2,
    "I64": 8,
    "I32": 4,
    "I16": 2,
    "I8": 1,
    "U64": 8,
    "U32": 4,
    "U16": 2,
    "U8": 1,
    "BOOL": 1,
}
_LEARNED = ("F64", "F32", "F16", "BF16")


@dataclass(frozen=True)
class Header:
    """What a safetensors file says of itself.

    Attributes:
        tensors: the names of its arrays.
        parameters: how many numbers they hold; whole numbers (tables of places) are not learned.
    """

    tensors: frozenset[str]
    parameters: int


def read(file: BinaryIO, size: int, name: str) -> Header:
    """Read a file's header, and check every claim that it makes against the file's size.

    Nothing but the header is read, and none of it before its length is known to be sensible.

    Args:
        file: stands at its beginning.
        size: of the whole file, in bytes.
        name: what a message calls it.

    Raises:
        ModelFilesDamaged: the header is cut off, is no header, or does not fit the file.
    """
    length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
    if size < _LENGTH_BYTES or length > size - _LENGTH_BYTES:
        raise _damaged(name, "it is shorter than its own header says")
    if length > MOST_HEADER_BYTES:
        raise _damaged(
            name, f"its header claims {length:,} bytes, and none has more than {MOST_HEADER_BYTES:,}"
        )
    try:
        header = json.loads(file.read(length).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _damaged(name, "its header cannot be read") from error
    if not isinstance(header, dict):
        raise _damaged(name, "its header is no table of arrays")
    header.pop("__metadata__", None)
    spans, parameters = [], 0
    for tensor, claim in header.items():
        kind, count, begin, end = _claim(claim, name, tensor)
        if end - begin != count * _SIZES[kind]:
            raise _damaged(name, "its header gives an array the wrong number of bytes")
        spans.append((begin, end))
        parameters += count if kind in _LEARNED else 0
    reached = 0
    for begin, end in sorted(spans):
        if begin != reached:
            raise _damaged(name, "the arrays that its header lists overlap or leave gaps")
        reached = end
    if reached != size - _LENGTH_BYTES - length:
        raise _damaged(name, "its arrays do not end where the file ends")
    return Header(frozenset(header), parameters)


def _claim(claim: Any, name: str, tensor: str) -> tuple[str, int, int, int]:
    """(kind of number, how many, first byte, byte behind the last) of one array."""
    try:
        kind, shape, (begin, end) = claim["dtype"], claim["shape"], claim["data_offsets"]
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(name, "its header describes an array without kind, shape or place") from error
    if not isinstance(kind, str) or kind not in _SIZES:
        raise ModelFilesDamaged(
            f"{name} stores numbers of a kind that attnviz does not read (in {quoted(tensor)}). "
            "Take the model as float32, float16 or bfloat16, not a compressed one."
        )
    numbers = [*shape, begin, end] if isinstance(shape, list) else [None]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise _damaged(name, "its header gives an array an impossible shape or place")
    return kind, math.prod(shape), begin, end


def _damaged(name: str, what: str) -> ModelFilesDamaged:
    return ModelFilesDamaged(f"{name} is damaged: {what}. Copy or download it again.")
