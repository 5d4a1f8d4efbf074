"""The file format of traces: an NPZ archive that numpy can open, without executable content.

It contains `header.npy` (JSON as bytes) and named arrays, as defined in `attnviz.trace`. They are not
compressed: compression would save only 8 %, and a small file could expand to any size in memory.
"""

from __future__ import annotations

import json
import math
import reprlib
import struct
import zipfile
from contextlib import AbstractContextManager, nullcontext
from os import SEEK_END, PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from attnviz.atomic_file import atomic_file
from attnviz.errors import InvalidTrace

File = str | PathLike[str] | IO[bytes]

FORMAT = "attnviz trace"
VERSION = 3

MAX_BYTES = 3 * 2**29
"""The maximum total size of the arrays: 2.5 times a trace of BERT-large with 512 tokens and W_O."""
MAX_HEADER_BYTES = 2**22
"""The maximum size of the header: enough for 40,000 tokens."""
MAX_DIRECTORY_BYTES = 2**20
"""The maximum size of the archive's directory: enough for 10,000 arrays."""

_DTYPES = tuple(np.dtype(name) for name in ("u1", "?", "<f4"))
_END = "<4s4H2LH"  # end-of-directory record: signature, disks and counts, size and offset, comment length
_LOCATOR = struct.Struct("<4sLQL")  # ZIP64 locator, before that record in an archive of more than 4 GiB
_MAX_QUOTED = 200  # maximum number of characters of another library's error message


def write(file: File, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a header and arrays; equal content produces equal files.

    Args:
        file: a path, used as given (no ".npz" is added), or a binary file open for writing. An existing
            file is replaced after everything is written, and unchanged if writing fails.
        arrays: arrays of bytes, bools or float32 by name.

    Raises:
        InvalidTrace: the header or the arrays are too large; nothing is written.
        OSError: the file cannot be written.
    """
    encoded = json.dumps({"format": FORMAT, "version": VERSION, **header}).encode("ascii")
    _check_sizes(len(encoded), sum(array.nbytes for array in arrays.values()))
    with _open(file, "wb") as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_STORED) as archive:
        for name, array in (("header", np.frombuffer(encoded, np.uint8)), *arrays.items()):
            member = zipfile.ZipInfo(f"{name}.npy")  # the date is always 1980
            with archive.open(member, "w") as stream:
                npy.write_array(stream, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)


def read(file: File) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the header and the arrays, by name and read-only, from a file written by `write`.

    No pickle is loaded, and all sizes are checked before memory is allocated. The contents of the header are
    not checked.

    Args:
        file: a path, or a binary file open for reading.

    Raises:
        InvalidTrace: the file is not a trace, has another version, is damaged, or is too large.
        OSError: the file cannot be opened.
    """
    with _open(file, "rb") as opened:
        try:
            length = _checked_length(opened)
            with zipfile.ZipFile(opened) as archive:
                return _read(archive, length)
        except InvalidTrace:
            raise
        except Exception as error:  # a damaged file can cause a zipfile error, a JSON error or any other
            raise damaged(f"{type(error).__name__}: {str(error)[:_MAX_QUOTED]}") from error


def damaged(reason: str) -> InvalidTrace:
    """Return the error for a file that `write` cannot have written."""
    return InvalidTrace(f"This file is not a trace that attnviz wrote, or it is damaged ({reason}).")


def _open(file: File, mode: str) -> AbstractContextManager[IO[bytes]]:
    if not isinstance(file, str | PathLike):
        return nullcontext(file)
    return atomic_file(Path(file)) if mode == "wb" else Path(file).open(mode)


def _checked_length(opened: IO[bytes]) -> int:
    """Return the file's length in bytes, if its directory is short enough for zipfile to read.

    The record at the end of an archive has the directory's offset. An archive comment or a ZIP64 record
    would make zipfile read another offset; `write` writes neither.
    """
    length = opened.seek(0, SEEK_END)
    size = struct.calcsize(_END)
    opened.seek(max(length - size - _LOCATOR.size, 0))
    ending = opened.read(size + _LOCATOR.size)
    signature, *_, directory, _, comment = struct.unpack(_END, ending[-size:].rjust(size, b"\0"))
    if signature != b"PK\x05\x06" or comment or ending.startswith(b"PK\x06\x07"):
        raise InvalidTrace(
            "This file is not a trace that attnviz wrote: it is not an NPZ file, or is changed or truncated."
        )
    if directory > MAX_DIRECTORY_BYTES:
        raise damaged(f"the stated size of its directory is {directory:,} bytes")
    return length


def _read(archive: zipfile.ZipFile, length: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    if len(members) < len(archive.infolist()):
        raise damaged("several arrays have the same name")
    for name, member in members.items():
        # Compressed content could expand to any size.
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
            raise damaged(f"{name} is compressed, which version {VERSION} does not allow")
    stated_size = sum(member.file_size for member in members.values())
    if stated_size > length:
        raise damaged(f"its arrays should have {stated_size:,} bytes, but the file has {length:,} bytes")
    _check_sizes(members["header"].file_size, stated_size - members["header"].file_size)
    header = json.loads(_array(archive, members.pop("header")).tobytes())
    if header.pop("format") != FORMAT:
        raise InvalidTrace("This file is not a trace that attnviz wrote.")
    if (version := header.pop("version")) != VERSION:
        raise InvalidTrace(
            f"This trace has version {reprlib.repr(version)}; this attnviz reads version {VERSION}. "
            "Trace the text again, or read the file with the version of attnviz that wrote it."
        )
    return header, {name: _array(archive, member) for name, member in members.items()}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as stream:
        npy.read_magic(stream)
        shape, by_columns, dtype = npy.read_array_header_1_0(stream)
        content = stream.read()  # reading to the end verifies the checksum
    if by_columns or dtype not in _DTYPES or math.prod(shape) * dtype.itemsize != len(content):
        raise damaged(f"{member.filename} is not an array of the described size and type")
    # Bools are read as bytes first: a bool that is neither 0 nor 1 would have undefined behaviour.
    found = np.frombuffer(content, np.uint8) != 0 if dtype == np.bool_ else np.frombuffer(content, dtype)
    array = found.reshape(shape).copy()
    array.setflags(write=False)
    return array


def _check_sizes(header: int, arrays: int) -> None:
    if header > MAX_HEADER_BYTES:
        raise InvalidTrace(
            f"This trace's header has {header:,} bytes; the maximum is {MAX_HEADER_BYTES:,} bytes."
        )
    if arrays > MAX_BYTES:
        raise InvalidTrace(
            f"This trace has {arrays / 2**20:,.0f} MiB of arrays; "
            f"the maximum is {MAX_BYTES / 2**20:,.0f} MiB. Trace a shorter text."
        )
