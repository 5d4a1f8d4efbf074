"""A trace as a file: an NPZ archive that numpy opens anywhere, and that runs nothing when it is opened.

Inside lie `header` (JSON as bytes: the texts, the tokens, and each block's name, kind, layer, scale and
sizes) and each block's arrays as the model computed them: `<block>.query`, `.key`, `.value`, `.scores`
(before the mask) and `.weights`. Blocks are named by kind and layer, counted from 1: `encoder-4.weights`. The
header names each block's mask, bias and slices of W_O, since blocks that have the same share one.

Everything lies there uncompressed: packing would save 8 %, and this way no file holds more than its length.
"""

from __future__ import annotations

import hashlib
import json
import math
import reprlib
import struct
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import cache, partial
from os import SEEK_END, PathLike
from pathlib import Path
from typing import IO, Any, TypeVar, get_args

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from attnviz.errors import InvalidTrace
from attnviz.trace import Block, Floats, Kind, Mask, Token, Trace

File = str | PathLike[str] | IO[bytes]
Shape = tuple[int, ...]
T = TypeVar("T")

FORMAT = "attnviz trace"
VERSION = 2

MOST_BYTES = 3 * 2**29
"""The most that the arrays may take; BERT-large at its 512 tokens, with its W_O, takes 2/3 of it."""
MOST_HEADER_BYTES = 2**22
"""The most that the header may take: forty thousand tokens."""
MOST_DIRECTORY_BYTES = 2**20
"""The most that the archive's list of contents may take: ten thousand arrays."""

ROUNDING = 1e-5
"""How far beyond 1 a weight may round: one that was moved onto another is a sum."""

_SHARED = ("mask", "bias", "projection")
_END = "<4s4H2LH"  # how a ZIP archive ends: signature, disks and counts, size and place of its list, comment
_LOCATOR = struct.Struct("<4sLQL")  # what stands before that in an archive of more than 4 GiB
_MOST_QUOTED = 200  # characters of another library's complaint that the message repeats


def write(trace: Trace, file: File) -> None:
    """Write a trace: every token and number, nothing hidden, nothing rescaled.

    The same trace gives the same bytes. `read` gives it back equal to the bit, edited weights too.

    Args:
        trace: what to write.
        file: a path, taken as it is (no ".npz" is added), or a binary file open for writing. What is there
            already is written over.

    Raises:
        InvalidTrace: the trace is too large.
        OSError: the file cannot be written.
    """
    header = _described(trace)
    _check_size(header)
    encoded = json.dumps(header).encode("ascii")
    _check_header(len(encoded))
    with (
        _open(file, "wb") as opened,
        zipfile.ZipFile(opened, "w", zipfile.ZIP_STORED) as archive,
    ):
        _add(archive, "header", np.frombuffer(encoded, dtype=np.uint8))
        added: set[str] = set()
        for described, block in zip(header["blocks"], trace.blocks, strict=True):
            for name, array in _arrays(block, described):
                if name not in added:
                    _add(archive, name, array)
                    added.add(name)


def read(file: File) -> Trace:
    """Read a trace that `write` wrote.

    Nothing in the file is trusted: no pickle is opened, and all sizes are checked before memory is taken.

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
                return _trace(archive, length)
        except InvalidTrace:
            raise
        except Exception as error:  # whatever the damaged part leads to: zlib's, JSON's, a KeyError
            raise InvalidTrace(
                "This file is not a trace that attnviz wrote, or it is damaged "
                f"({type(error).__name__}: {str(error)[:_MOST_QUOTED]})."
            ) from error


@dataclass(frozen=True, eq=False)
class KeptAttend:
    """(scores, weights) of a block that was read from a file: those that its model computed.

    Attributes:
        scores, weights: [head, query, key].
        computed_from: the block's own query, key, mask, bias and scale.
    """

    scores: Floats
    weights: Floats
    computed_from: tuple[Floats, Floats, Mask, Floats | None, float]

    def __call__(
        self, query: Floats, key: Floats, mask: Mask, scale: float, bias: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """As `attnviz.trace.attend`, for the block's own arrays.

        Raises:
            InvalidTrace: the arrays are others, for which the file has no scores and weights.
        """
        *arrays, own_scale = self.computed_from
        asked = (query, key, mask, bias)
        if scale != own_scale or any(one is not own for one, own in zip(asked, arrays, strict=True)):
            raise InvalidTrace(
                "A trace from a file knows the weights of its own queries, keys and mask only. "
                "Run the model again to see what others give."
            )
        return self.scores, self.weights


def _open(file: File, mode: str) -> AbstractContextManager[IO[bytes]]:
    return Path(file).open(mode) if isinstance(file, str | PathLike) else nullcontext(file)


def _described(trace: Trace) -> dict[str, Any]:
    """The header: everything but the arrays."""
    sequences = list(
        dict.fromkeys(tokens for block in trace.blocks for tokens in (block.query_tokens, block.key_tokens))
    )
    places: dict[tuple[str, Shape, bytes], str] = {}

    def place(block: Block, kept: str) -> str | None:
        """The name of a shared array: that of the first block which has the same."""
        array = getattr(block, kept)
        if array is None:
            return None
        content = (kept, array.shape, hashlib.sha256(array).digest())
        return places.setdefault(content, f"{_name(block.kind, block.layer)}.{kept}")

    return {
        "format": FORMAT,
        "version": VERSION,
        "model": trace.model,
        "text": trace.text,
        "second": trace.second,
        "target": trace.target,
        "written": trace.written,
        "edits": trace.edits,
        "sequences": [[asdict(token) for token in tokens] for tokens in sequences],
        "blocks": [
            {
                "name": _name(block.kind, block.layer),
                "kind": block.kind,
                "layer": block.layer + 1,
                "scale": float(block.scale),
                "query_tokens": sequences.index(block.query_tokens),
                "key_tokens": sequences.index(block.key_tokens),
                "heads": block.query.shape[0],
                "d_head": block.query.shape[2],
                "d_value": block.value.shape[2],
                "d_model": None if block.projection is None else block.projection.shape[2],
                **{kept: place(block, kept) for kept in _SHARED},
            }
            for block in trace.blocks
        ],
    }


def _name(kind: Kind, layer: int) -> str:
    return f"{kind}-{layer + 1}"


def _arrays(block: Block, described: dict[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Every array of a block, and its name in the file."""
    scores, weights = block.attend(block.query, block.key, block.mask, block.scale, block.bias)
    own = {"query": block.query, "key": block.key, "value": block.value, "scores": scores, "weights": weights}
    for kept, array in own.items():
        yield f"{described['name']}.{kept}", array
    for kept in _SHARED:
        if described[kept] is not None:
            yield described[kept], getattr(block, kept)


def _add(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, whenever it is written
    with archive.open(member, "w") as stream:
        npy.write_array(stream, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)


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
    if directory > MOST_DIRECTORY_BYTES:
        raise InvalidTrace(
            f"This file is not a trace that attnviz wrote: its list of contents claims {directory:,} bytes."
        )
    return length


def _trace(archive: zipfile.ZipFile, length: int) -> Trace:
    header = _header(archive)
    needed = _check_size(header)
    if needed > length:
        raise InvalidTrace(
            f"This trace is damaged: it claims {needed:,} bytes of numbers and is {length:,} bytes long."
        )
    names = ["header", *_claims(header)]
    if sorted(archive.namelist()) != sorted(f"{name}.npy" for name in names):
        raise InvalidTrace("This trace is damaged: it holds other arrays than its header describes.")
    content = cache(partial(_content, archive))  # what blocks share is read once, and they share it again
    return Trace(
        model=_typed(header["model"], str),
        text=_typed(header["text"], str),
        second=_typed_or_none(header["second"], str),
        target=_typed_or_none(header["target"], str),
        written=_typed(header["written"], int),
        edits=tuple(_typed(edit, str) for edit in _typed(header["edits"], list)),
        blocks=tuple(_block(content, fields, header["sequences"]) for fields in header["blocks"]),
    )


def _header(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The header, its tokens made, and everything in it of the right type."""
    member = archive.getinfo("header.npy")
    _check_header(member.file_size)
    # Version 1 packed it. What zlib unpacks has the bound that `read` is given; a list of contents may lie.
    with _opened(archive, "header", zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) as stream:
        npy.read_magic(stream)
        npy.read_array_header_1_0(stream)
        header = _typed(json.loads(stream.read(MOST_HEADER_BYTES)), dict)
    if header["format"] != FORMAT:
        raise InvalidTrace("This file is not a trace that attnviz wrote.")
    if header["version"] != VERSION:
        raise InvalidTrace(
            f"This trace is of version {_quoted(header['version'])}; this attnviz reads version {VERSION}. "
            "Trace the text again, or read the file with the attnviz that wrote it."
        )
    header["sequences"] = [
        tuple(_token(_typed(fields, dict)) for fields in _typed(tokens, list))
        for tokens in _typed(header["sequences"], list)
    ]
    for fields in _typed(header["blocks"], list):
        kind: Kind = fields["kind"]
        if kind not in get_args(Kind):
            raise InvalidTrace(
                f"“{_quoted(kind)}” is no kind of attention; there are: {', '.join(get_args(Kind))}."
            )
        if fields["name"] != _name(kind, _size(fields["layer"]) - 1):
            raise InvalidTrace(f"This trace is damaged: {_quoted(fields['name'])} is not its block's name.")
        for shared in _SHARED:
            _typed_or_none(fields[shared], str)
    return header


def _token(fields: dict[str, Any]) -> Token:
    if _typed(fields["sentence"], int) not in {0, 1}:
        raise InvalidTrace(f"This trace is damaged: {fields['sentence']} is neither of two sentences.")
    return Token(
        text=_typed(fields["text"], str),
        id=_typed(fields["id"], int),
        start=_typed(fields["start"], int),
        end=_typed(fields["end"], int),
        word=_typed_or_none(fields["word"], int),
        special=_typed(fields["special"], bool),
        sentence=fields["sentence"],
    )


def _shapes(fields: dict[str, Any], sequences: Sequence[Sequence[object]]) -> dict[str, tuple[str, Shape]]:
    """The name in the file, and the shape, of each of a block's arrays."""
    heads, d_head, d_value = (_size(fields[name]) for name in ("heads", "d_head", "d_value"))
    queries, keys = (
        _size(len(sequences[_typed(fields[name], int)])) for name in ("query_tokens", "key_tokens")
    )
    shapes: dict[str, Shape] = {
        "query": (heads, queries, d_head),
        "key": (heads, keys, d_head),
        "value": (heads, keys, d_value),
        "scores": (heads, queries, keys),
        "weights": (heads, queries, keys),
        "mask": (queries, keys),
    }
    if fields["bias"] is not None:
        shapes["bias"] = (heads, queries, keys)
    if fields["projection"] is not None:
        shapes["projection"] = (heads, d_value, _size(fields["d_model"]))
    return {
        kept: (fields[kept] if kept in _SHARED else f"{fields['name']}.{kept}", shape)
        for kept, shape in shapes.items()
    }


def _claims(header: dict[str, Any]) -> dict[str, int]:
    """Every array of the file, and how many bytes the header says are in it."""
    claims: dict[str, int] = {}
    for fields in header["blocks"]:
        for kept, (name, shape) in _shapes(fields, header["sequences"]).items():
            claims[name] = max(claims.get(name, 0), math.prod(shape) * _dtype(kept).itemsize)
    return claims


def _dtype(kept: str) -> np.dtype[Any]:
    return np.dtype(np.bool_ if kept == "mask" else np.float32)


def _check_size(header: dict[str, Any]) -> int:
    """The bytes that the arrays take.

    Raises:
        InvalidTrace: they are too many.
    """
    needed = sum(_claims(header).values())
    if needed > MOST_BYTES:
        raise InvalidTrace(
            f"This trace claims {needed / 2**20:,.0f} MiB of numbers; "
            f"attnviz keeps at most {MOST_BYTES / 2**20:,.0f} in a file. Trace a shorter text."
        )
    return needed


def _check_header(size: int) -> None:
    if size > MOST_HEADER_BYTES:
        raise InvalidTrace(
            f"This trace's header claims {size:,} bytes; attnviz reads at most {MOST_HEADER_BYTES:,}."
        )


def _block(content: Any, fields: dict[str, Any], sequences: list[tuple[Token, ...]]) -> Block:
    arrays = {
        kept: content(name, shape, _dtype(kept)) for kept, (name, shape) in _shapes(fields, sequences).items()
    }
    scores, weights = arrays.pop("scores"), arrays.pop("weights")
    if not np.isfinite(scores).all():
        raise InvalidTrace(f"This trace is damaged: {fields['name']} has scores that are not finite.")
    if not ((weights >= 0) & (weights <= 1 + ROUNDING)).all():
        raise InvalidTrace(f"This trace is damaged: {fields['name']} has weights that are not from 0 to 1.")
    scale = _typed(fields["scale"], float)
    computed_from = (arrays["query"], arrays["key"], arrays["mask"], arrays.get("bias"), scale)
    return Block(
        kind=fields["kind"],
        layer=fields["layer"] - 1,
        query_tokens=sequences[fields["query_tokens"]],
        key_tokens=sequences[fields["key_tokens"]],
        scale=scale,
        attend=KeptAttend(scores, weights, computed_from),
        **arrays,
    )


def _content(archive: zipfile.ZipFile, name: str, shape: Shape, dtype: np.dtype[Any]) -> NDArray[Any]:
    """One array of the archive, read-only, which must be just what the header says."""
    with _opened(archive, name, zipfile.ZIP_STORED) as stream:
        version = npy.read_magic(stream)
        if version != (1, 0) or npy.read_array_header_1_0(stream) != (shape, False, dtype):
            raise InvalidTrace(f"This trace is damaged: {name} is not the array that its header describes.")
        size = math.prod(shape) * dtype.itemsize
        content = stream.read(size + 1)  # one more than there is: checksums are compared at the end
    if len(content) != size:
        raise InvalidTrace(f"This trace is damaged: {name} does not hold {size:,} bytes.")
    # As bytes first, because a bool that is neither 0 nor 1 would be unsound.
    found = np.frombuffer(content, np.uint8) != 0 if dtype == np.bool_ else np.frombuffer(content, dtype)
    array = found.reshape(shape).copy()
    array.setflags(write=False)
    return array


def _opened(archive: zipfile.ZipFile, name: str, *packings: int) -> IO[bytes]:
    member = archive.getinfo(f"{name}.npy")
    if member.compress_type not in packings:  # it might unpack to any size
        raise InvalidTrace(f"This trace is damaged: {name} is packed otherwise than attnviz packs.")
    return archive.open(member)


def _typed(found: object, wanted: type[T]) -> T:
    if not isinstance(found, wanted) or (wanted is int and isinstance(found, bool)):
        raise InvalidTrace(f"This trace is damaged: {_quoted(found)} is not of type {wanted.__name__}.")
    return found


def _typed_or_none(found: object, wanted: type[T]) -> T | None:
    return None if found is None else _typed(found, wanted)


def _size(found: object) -> int:
    size = _typed(found, int)
    if size < 1:
        raise InvalidTrace(f"This trace is damaged: {size} is not a size.")
    return size


def _quoted(found: object) -> str:
    return reprlib.repr(found)
