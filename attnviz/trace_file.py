"""A trace as a file: an NPZ archive that numpy opens anywhere, and that runs nothing when it is opened.

Inside lie `header` (JSON as bytes: the texts, the tokens, and each block's name, kind, layer, scale and
sizes) and each block's arrays, called `<block>.query`, `.key`, `.value` and `.mask`, with `.bias` and
`.projection` where the trace has them. Blocks are named by kind and layer, counted from 1: `encoder-4.query`.
With `derived=True` there are `.scores` and `.weights` too, for those without attnviz; `read` skips them.
"""

from __future__ import annotations

import json
import math
import zipfile
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeVar, get_args

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from attnviz.errors import InvalidTrace
from attnviz.trace import Block, Kind, Token, Trace

File = str | PathLike[str] | IO[bytes]
T = TypeVar("T")
Number = TypeVar("Number", bound=np.generic)

FORMAT = "attnviz trace"
VERSION = 1

MOST_BYTES = 2**30
"""The most that arrays and weights may take in memory; BERT-large at its 512 tokens takes 2/3 of it."""
MOST_HEADER_BYTES = 2**24
"""The most that the header may take: a hundred thousand tokens."""


def write(trace: Trace, file: File, derived: bool = False) -> None:
    """Write a trace: every token, nothing hidden, nothing rescaled. The same trace gives the same bytes.

    Args:
        trace: what to write.
        file: a path, taken as it is (no ".npz" is added), or a binary file open for writing.
        derived: also write the scores (before the mask) and the weights, both [head, query, key].

    Raises:
        InvalidTrace: the weights were edited. The file holds queries and keys, from which whoever reads it
            would compute the unedited ones.
    """
    if trace.edits:
        raise InvalidTrace(
            f"This trace was edited ({', '.join(trace.edits)}); only an unedited one can be kept in a file."
        )
    sequences = list(
        dict.fromkeys(tokens for block in trace.blocks for tokens in (block.query_tokens, block.key_tokens))
    )
    header = {
        "format": FORMAT,
        "version": VERSION,
        "model": trace.model,
        "text": trace.text,
        "target": trace.target,
        "sequences": [[asdict(token) for token in tokens] for tokens in sequences],
        "blocks": [
            {
                "name": _name(block),
                "kind": block.kind,
                "layer": block.layer + 1,
                "scale": block.scale,
                "query_tokens": sequences.index(block.query_tokens),
                "key_tokens": sequences.index(block.key_tokens),
                "heads": block.query.shape[0],
                "d_head": block.query.shape[2],
                "d_value": block.value.shape[2],
                "d_model": None if block.projection is None else block.projection.shape[2],
                "bias": block.bias is not None,
            }
            for block in trace.blocks
        ],
    }
    arrays: dict[str, NDArray[Any]] = {
        "header": np.frombuffer(json.dumps(header).encode("ascii"), dtype=np.uint8)
    }
    for block in trace.blocks:
        for kept in ("query", "key", "value", "mask", "bias", "projection"):
            array = getattr(block, kept)
            if array is not None:
                arrays[f"{_name(block)}.{kept}"] = array
        if derived:
            arrays[f"{_name(block)}.scores"] = block.scores
            arrays[f"{_name(block)}.weights"] = block.weights
    with _open(file, "wb") as opened:
        np.savez_compressed(opened, allow_pickle=False, **arrays)


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
            with zipfile.ZipFile(opened) as archive:
                return _trace(archive)
        except InvalidTrace:
            raise
        except Exception as error:  # whatever the damaged part leads to: zlib's, JSON's, a KeyError
            raise InvalidTrace(
                "This file is not a trace that attnviz wrote, or it is damaged "
                f"({type(error).__name__}: {error})."
            ) from error


def _name(block: Block) -> str:
    return f"{block.kind}-{block.layer + 1}"


def _open(file: File, mode: str) -> AbstractContextManager[IO[bytes]]:
    return Path(file).open(mode) if isinstance(file, str | PathLike) else nullcontext(file)


def _trace(archive: zipfile.ZipFile) -> Trace:
    header = _header(archive)
    sequences = [tuple(_token(fields) for fields in tokens) for tokens in header["sequences"]]
    sizes = [_shapes(fields, sequences) for fields in header["blocks"]]
    needed = sum(math.prod(shape) for shapes in sizes for shape in shapes.values()) * np.float32().nbytes
    if needed > MOST_BYTES:
        raise InvalidTrace(
            f"This trace claims {needed / 2**20:,.0f} MiB of numbers; "
            f"attnviz reads at most {MOST_BYTES / 2**20:,.0f}."
        )
    return Trace(
        model=_typed(header["model"], str),
        text=_typed(header["text"], str),
        target=None if header["target"] is None else _typed(header["target"], str),
        blocks=tuple(
            _block(archive, fields, shapes, sequences)
            for fields, shapes in zip(header["blocks"], sizes, strict=True)
        ),
    )


def _header(archive: zipfile.ZipFile) -> dict[str, Any]:
    size = archive.getinfo("header.npy").file_size
    if size > MOST_HEADER_BYTES:
        raise InvalidTrace(
            f"This trace's header claims {size:,} bytes; attnviz reads at most {MOST_HEADER_BYTES:,}."
        )
    with archive.open("header.npy") as stream:
        npy.read_magic(stream)
        npy.read_array_header_1_0(stream)
        header = _typed(json.loads(stream.read()), dict)
    if header["format"] != FORMAT:
        raise InvalidTrace("This file is not a trace that attnviz wrote.")
    if header["version"] != VERSION:
        raise InvalidTrace(
            f"This trace is of version {header['version']}; this attnviz reads version {VERSION}."
        )
    return header


def _token(fields: dict[str, Any]) -> Token:
    return Token(
        text=_typed(fields["text"], str),
        id=_typed(fields["id"], int),
        start=_typed(fields["start"], int),
        end=_typed(fields["end"], int),
        word=None if fields["word"] is None else _typed(fields["word"], int),
        special=_typed(fields["special"], bool),
    )


def _shapes(fields: dict[str, Any], sequences: list[tuple[Token, ...]]) -> dict[str, tuple[int, ...]]:
    """The shapes of a block's arrays, and of the weights that will be computed from them."""
    heads, d_head, d_value = (_size(fields[name]) for name in ("heads", "d_head", "d_value"))
    queries, keys = (
        _size(len(sequences[_typed(fields[name], int)])) for name in ("query_tokens", "key_tokens")
    )
    shapes: dict[str, tuple[int, ...]] = {
        "query": (heads, queries, d_head),
        "key": (heads, keys, d_head),
        "value": (heads, keys, d_value),
        "mask": (queries, keys),
        "weights": (heads, queries, keys),
    }
    if _typed(fields["bias"], bool):
        shapes["bias"] = shapes["weights"]
    if fields["d_model"] is not None:
        shapes["projection"] = (heads, d_value, _size(fields["d_model"]))
    return shapes


def _block(
    archive: zipfile.ZipFile,
    fields: dict[str, Any],
    shapes: dict[str, tuple[int, ...]],
    sequences: list[tuple[Token, ...]],
) -> Block:
    kind: Kind = fields["kind"]
    if kind not in get_args(Kind):
        raise InvalidTrace(f"“{kind}” is no kind of attention; there are: {', '.join(get_args(Kind))}.")
    name = _typed(fields["name"], str)
    mask = _content(archive, f"{name}.mask", shapes["mask"], np.uint8, np.bool_)
    floats = {
        kept: _content(archive, f"{name}.{kept}", shapes[kept], np.float32, np.float32)
        for kept in ("query", "key", "value", "bias", "projection")
        if kept in shapes
    }
    return Block(
        kind=kind,
        layer=_size(fields["layer"]) - 1,
        query_tokens=sequences[fields["query_tokens"]],
        key_tokens=sequences[fields["key_tokens"]],
        query=floats["query"],
        key=floats["key"],
        value=floats["value"],
        mask=mask != 0,  # as bytes, because a bool that is neither 0 nor 1 would be unsound
        scale=_typed(fields["scale"], float),
        bias=floats.get("bias"),
        projection=floats.get("projection"),
    )


def _content(
    archive: zipfile.ZipFile,
    name: str,
    shape: tuple[int, ...],
    dtype: type[Number],
    stored_as: type[np.generic],
) -> NDArray[Number]:
    """One array of the archive, which must be just what the header says."""
    with archive.open(f"{name}.npy") as stream:
        version = npy.read_magic(stream)
        if version != (1, 0) or npy.read_array_header_1_0(stream) != (shape, False, np.dtype(stored_as)):
            raise InvalidTrace(f"This trace is damaged: {name} is not the array that its header describes.")
        size = math.prod(shape) * np.dtype(dtype).itemsize
        content = stream.read(size + 1)  # one more than there is: checksums are compared at the end
    if len(content) != size:
        raise InvalidTrace(f"This trace is damaged: {name} does not hold {size:,} bytes.")
    return np.frombuffer(content, dtype).reshape(shape)


def _typed(found: object, wanted: type[T]) -> T:
    if not isinstance(found, wanted) or (wanted is int and isinstance(found, bool)):
        raise InvalidTrace(f"This trace is damaged: {found!r} is not of type {wanted.__name__}.")
    return found


def _size(found: object) -> int:
    size = _typed(found, int)
    if size < 1:
        raise InvalidTrace(f"This trace is damaged: {size} is not a size.")
    return size
