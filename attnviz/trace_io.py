"""The file of a trace: an NPZ archive that numpy opens anywhere, and that runs nothing when it is opened.

Inside lie `header.npy` (JSON as bytes) and other arrays by their names. Nothing is compressed: that would
save 8 %, and this way reading a file never takes much more memory than the file is long.

The contents of the header and the arrays are defined in `attnviz.trace`.
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
"""The most that the arrays may take; BERT-large at its 512 tokens, with its W_O, takes 2/5 of it."""
MAX_HEADER_BYTES = 2**22
"""The most that the header may take: forty thousand tokens."""
MAX_DIRECTORY_BYTES = 2**20
"""The most that the archive's list of contents may take: ten thousand arrays."""

_DTYPES = tuple(np.dtype(name) for name in ("u1", "?", "<f4"))
_END = "<4s4H2LH"  # how a ZIP archive ends: signature, disks and counts, size and place of its list, comment
_LOCATOR = struct.Struct("<4sLQL")  # the record before it in an archive of more than 4 GiB
_MAX_QUOTED = 200  # characters of another library's complaint that the message repeats


def write(file: File, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a header and arrays; the same ones give the same bytes.

    Args:
        file: a path, taken as it is (no ".npz" is added), or a binary file open for writing. What is there
            already is replaced when all is written, and stays if that fails.
        arrays: of bytes, bools or float32, each with its name.

    Raises:
        InvalidTrace: they are too large, and nothing was written.
        OSError: the file cannot be written.
    """
    encoded = json.dumps({"format": FORMAT, "version": VERSION, **header}).encode("ascii")
    _check_sizes(len(encoded), sum(array.nbytes for array in arrays.values()))
    with _open(file, "wb") as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_STORED) as archive:
        for name, array in (("header", np.frombuffer(encoded, np.uint8)), *arrays.items()):
            member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, whenever it is written
            with archive.open(member, "w") as stream:
                npy.write_array(stream, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)


def read(file: File) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `write` wrote: the header, and the arrays by their names, read-only.

    No pickle is opened, and all sizes are checked before memory is taken; the contents of the header
    are not checked.

    Args:
        file: a path, or a binary file open for reading.

    Raises:
        InvalidTrace: it is no trace, of another version, damaged, or too large.
        OSError: the file cannot be opened.
    """
    with _open(file, "rb") as opened:
        try:
            length = _checked_length(opened)
            with zipfile.ZipFile(opened) as archive:
                return _read(archive, length)
        except InvalidTrace:
            raise
        except Exception as error:  # whatever the damaged part leads to: zipfile's, JSON's, a KeyError
            raise damaged(f"{type(error).__name__}: {str(error)[:_MAX_QUOTED]}") from error


def damaged(reason: str) -> InvalidTrace:
    """The error of a file that `write` cannot have written."""
    return InvalidTrace(f"This file is not a trace that attnviz wrote, or it is damaged ({reason}).")


def _open(file: File, mode: str) -> AbstractContextManager[IO[bytes]]:
    if not isinstance(file, str | PathLike):
        return nullcontext(file)
    return atomic_file(Path(file)) if mode == "wb" else Path(file).open(mode)


def _checked_length(opened: IO[bytes]) -> int:
    """How many bytes the file has, if its list of contents is short enough for zipfile to read it.

    An archive begins at its end, with where that list lies. A comment there, or the mark of an archive of
    more than 4 GiB, would have zipfile look elsewhere; `write` writes neither.
    """
    length = opened.seek(0, SEEK_END)
    size = struct.calcsize(_END)
    opened.seek(max(length - size - _LOCATOR.size, 0))
    ending = opened.read(size + _LOCATOR.size)
    signature, *_, directory, _, comment = struct.unpack(_END, ending[-size:].rjust(size, b"\0"))
    if signature != b"PK\x05\x06" or comment or ending.startswith(b"PK\x06\x07"):
        raise InvalidTrace(
            "This file is not a trace that attnviz wrote: it is no NPZ file, or it was changed or cut off."
        )
    if directory > MAX_DIRECTORY_BYTES:
        raise damaged(f"its list of contents claims {directory:,} bytes")
    return length


def _read(archive: zipfile.ZipFile, length: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
    if len(members) < len(archive.infolist()):
        raise damaged("two of its arrays have one name")
    for name, member in members.items():
        # What is compressed might unpack to any size.
        if member.compress_type != zipfile.ZIP_STORED or member.compress_size != member.file_size:
            raise damaged(f"{name} is packed, which only attnviz before version {VERSION} of this file did")
    claimed = sum(member.file_size for member in members.values())
    if claimed > length:
        raise damaged(f"its arrays claim {claimed:,} bytes, and it is {length:,} bytes long")
    _check_sizes(members["header"].file_size, claimed - members["header"].file_size)
    header = json.loads(_array(archive, members.pop("header")).tobytes())
    if header.pop("format") != FORMAT:
        raise InvalidTrace("This file is not a trace that attnviz wrote.")
    if (version := header.pop("version")) != VERSION:
        raise InvalidTrace(
            f"This trace is of version {reprlib.repr(version)}; this attnviz reads version {VERSION}. "
            "Trace the text again, or read the file with the attnviz that wrote it."
        )
    return header, {name: _array(archive, member) for name, member in members.items()}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as stream:
        npy.read_magic(stream)
        shape, by_columns, dtype = npy.read_array_header_1_0(stream)
        content = stream.read()  # to the end, where the checksum is compared
    if by_columns or dtype not in _DTYPES or math.prod(shape) * dtype.itemsize != len(content):
        raise damaged(f"{member.filename} is no array of the described size and type")
    # As bytes first, because a bool that is neither 0 nor 1 would be unsound.
    found = np.frombuffer(content, np.uint8) != 0 if dtype == np.bool_ else np.frombuffer(content, dtype)
    array = found.reshape(shape).copy()
    array.setflags(write=False)
    return array


def _check_sizes(header: int, arrays: int) -> None:
    if header > MAX_HEADER_BYTES:
        raise InvalidTrace(
            f"This trace's header claims {header:,} bytes; attnviz reads at most {MAX_HEADER_BYTES:,}."
        )
    if arrays > MAX_BYTES:
        raise InvalidTrace(
            f"This trace claims {arrays / 2**20:,.0f} MiB of numbers; "
            f"attnviz keeps at most {MAX_BYTES / 2**20:,.0f} in a file. Trace a shorter text."
        )
