import io
import json
import math
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import trace_io
from attnviz.errors import InvalidTrace
from attnviz.trace import Block, Token, Trace
from tests.formula import D_HEAD, HEADS, KEYS, QUERIES
from tests.formula import block as random_block

ENCODED, DECODED = QUERIES, KEYS
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def random_trace(seed: int, text: str = "a <b>&\x00😀", complete: bool = True) -> Trace:
    """Return a trace of random arrays; two blocks have a bias and a projection if `complete`."""
    random = np.random.default_rng(seed)

    def tokens(count: int) -> tuple[Token, ...]:
        return tuple(
            Token(f"{text}{n}", n, n, n + 1, None if n == 0 else n - 1, n == 0, n % 2) for n in range(count)
        )

    def block(kind: Any, layer: int, queries: int, keys: int, complete: bool) -> Block:
        return random_block(
            int(random.integers(2**31)),
            queries,
            keys,
            complete,
            kind=kind,
            layer=layer,
            query_tokens=tokens(queries),
            key_tokens=tokens(keys),
            weights=random.random((HEADS, queries, keys)).astype(
                np.float32
            ),  # the weights need not be computed from the other arrays
            scale=float(random.random()),
        )

    return Trace(
        model="a model",
        text=text,
        second=text * 2 if seed % 3 else None,
        target=None if seed % 2 else text[::-1],
        written=seed % 5,
        edits=("encoder 2-1 9 2>7", text) if seed % 7 else (),
        blocks=(
            block("encoder", 0, ENCODED, ENCODED, complete=False),
            block("encoder", 1, ENCODED, ENCODED, complete=complete),
            block("decoder", 0, DECODED, DECODED, complete=complete),
            block("cross", 0, DECODED, ENCODED, complete=False),
        ),
    )


def to_bytes(trace: Trace) -> bytes:
    file = io.BytesIO()
    trace.save(file)
    return file.getvalue()


def from_bytes(content: bytes) -> Trace:
    return Trace.load(io.BytesIO(content))


def identical(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())
    return one == other


def same(one: Trace, other: Trace) -> bool:
    """Return whether all fields are equal; arrays, including computed arrays, must be bit-identical."""
    of_traces = [field.name for field in fields(Trace) if field.name != "blocks"]
    of_blocks = [field.name for field in fields(Block)]
    return (
        all(getattr(one, name) == getattr(other, name) for name in of_traces)
        and len(one.blocks) == len(other.blocks)
        and all(
            identical(getattr(a, name), getattr(b, name))
            for a, b in zip(one.blocks, other.blocks, strict=True)
            for name in (*of_blocks, "scores", "output")
        )
    )


@given(st.integers(0, 2**32 - 1), TEXTS, st.booleans())
def test_a_saved_trace_is_loaded_unchanged(seed: int, text: str, complete: bool) -> None:
    trace = random_trace(seed, text, complete)
    loaded = from_bytes(to_bytes(trace))
    assert same(loaded, trace)
    assert to_bytes(loaded) == to_bytes(trace)
    assert not same(loaded, random_trace(seed + 1, text, complete))


def test_a_loaded_trace_can_be_pickled() -> None:
    unpickled: Trace = pickle.loads(pickle.dumps(from_bytes(to_bytes(random_trace(1)))))  # noqa: S301 - our own data
    assert same(unpickled, random_trace(1))


def test_sinks_are_saved() -> None:
    trace = random_trace(2)
    sinks = np.array([-1.5, 0.25], np.float32)
    with_sinks = replace(trace, blocks=tuple(replace(block, sinks=sinks) for block in trace.blocks))
    assert same(from_bytes(to_bytes(with_sinks)), with_sinks)
    for invalid in (np.zeros(3, np.float32), np.array([np.nan, 0], np.float32)):
        with pytest.raises(InvalidTrace, match="sinks"):
            replace(trace.blocks[0], sinks=invalid)


def test_a_shared_mask_is_saved_once_and_shared_after_loading() -> None:
    trace = random_trace(3)
    one, other = trace.blocks[0], replace(trace.blocks[1], mask=trace.blocks[0].mask)
    unshared = len(to_bytes(replace(trace, blocks=(one, trace.blocks[1]))))
    content = to_bytes(replace(trace, blocks=(one, other)))
    assert unshared - len(content) > one.mask.nbytes
    loaded = from_bytes(content)
    assert same(loaded, replace(trace, blocks=(one, other)))
    assert loaded.blocks[0].mask is loaded.blocks[1].mask


def test_no_ending_is_added_to_the_path(tmp_path: Path) -> None:
    for path in (tmp_path / "a trace", str(tmp_path / "b.npz")):
        random_trace(1).save(path)
        assert same(Trace.load(path), random_trace(1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a trace", "b.npz"]


def test_numpy_can_read_a_saved_trace() -> None:
    trace = random_trace(4)
    with np.load(io.BytesIO(to_bytes(trace)), allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        assert (header["format"], header["version"], header["text"]) == ("attnviz trace", 3, trace.text)
        names = [block["name"] for block in header["blocks"]]
        assert names == ["encoder-1", "encoder-2", "decoder-1", "cross-1"]
        for block, described in zip(trace.blocks, header["blocks"], strict=True):
            assert described["layer"] == block.layer + 1
            for name in ("query", "key", "value", "weights"):
                assert np.array_equal(archive[f"{described['name']}.{name}"], getattr(block, name))
            assert np.array_equal(archive[described["mask"]], block.mask)


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


MEMBERS = unzipped(to_bytes(random_trace(6)))


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def as_npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def with_array(name: str, array: np.ndarray[Any, Any]) -> bytes:
    return zipped(MEMBERS | {f"{name}.npy": as_npy(array)})


def with_header(**changes: Any) -> bytes:
    header = json.loads(MEMBERS["header.npy"][128:])
    for path, changed in changes.items():
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("__"))
        place: Any = header
        for parent in parents:
            place = place[parent]
        place[last] = changed
    encoded = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    return zipped(MEMBERS | {"header.npy": as_npy(encoded)})


class FailsOnUnpickling:
    """An object that fails the test when it is unpickled."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was loaded",))


def assert_refused(content: bytes, message: str = "damaged") -> None:
    with limited_memory(), pytest.raises(InvalidTrace, match=message):
        from_bytes(content)


@contextmanager
def limited_memory() -> Iterator[None]:
    """Fail if more than 16 MiB of memory are allocated inside the `with` block."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_the_helpers_change_only_the_given_part() -> None:
    assert same(from_bytes(with_header()), random_trace(6))
    assert same(from_bytes(with_array("encoder-1.query", random_trace(6).blocks[0].query)), random_trace(6))


def test_other_files_are_refused() -> None:
    for header in (b"{}", b"[1]", b"[" * 100_000):
        assert_refused(zipped({"header.npy": as_npy(np.frombuffer(header, dtype=np.uint8))}))
    for array in (np.array([FailsOnUnpickling()], dtype=object), np.zeros(3)):
        assert_refused(zipped({"header.npy": as_npy(array)}))
    assert_refused(zipped({"header.npy": b""}))
    assert_refused(zipped({"word/document.xml": b"<w/>"}))
    assert_refused(zipped({}))
    text = b"a text that is longer than 22 bytes"
    for content in (b"", b"PK", b"\x89PNG\r\n\x1a\n" + bytes(100), text, as_npy(np.zeros(3))):
        assert_refused(
            content, r"attnviz wrote: it is not an NPZ file, .* truncated\.$"
        )  # a readable message without internal details


def test_arrays_that_differ_from_the_header_are_refused() -> None:
    shape = (HEADS, ENCODED, D_HEAD)
    for array in (
        np.array([FailsOnUnpickling()] * math.prod(shape), dtype=object).reshape(shape),
        np.zeros(shape),
        np.zeros(shape, dtype=">f4"),
        np.zeros(shape, dtype=np.uint8),
        np.zeros(shape, dtype=np.bool_),
        np.zeros(shape, dtype=np.float32, order="F"),
        np.zeros((HEADS, D_HEAD, ENCODED), dtype=np.float32),
        np.zeros((HEADS, ENCODED + 1, D_HEAD), dtype=np.float32),
        np.zeros((), dtype=np.float32),
    ):
        assert_refused(with_array("encoder-1.query", array), "damaged|has shape|dimensions")
    for content in (MEMBERS["encoder-1.query.npy"][:-1], MEMBERS["encoder-1.query.npy"] + b"0"):
        assert_refused(
            zipped(MEMBERS | {"encoder-1.query.npy": content}), "encoder-1.query.npy is not an array"
        )


TOKEN = {"text": "", "id": 0, "start": 0, "end": 0, "word": None, "special": False, "sentence": 0}

INVALID_HEADERS: tuple[dict[str, Any], ...] = (
    *({"model": 3}, {"target": []}, {"written": True}, {"written": -1}, {"edits": [2]}, {"more": 1}),
    *({"blocks": None}, {"blocks__0__kind": "sideways"}, {"blocks__0__kind": ["encoder"]}),
    *({"blocks__0__layer": 0}, {"blocks__0__layer": True}, {"blocks__0__layer": 2}),
    {"blocks__0__layer": 2, "blocks__0__name": "encoder-2"},
    *({"blocks__0__name": "../../x"}, {"blocks__0__mask": "../../x"}, {"blocks__0__mask": "encoder-1.query"}),
    {"blocks__1__mask": "encoder-2.bias", "blocks__1__bias": "encoder-2.mask"},
    *({"blocks__0__scale": "1"}, {"blocks__0__scale": float("nan")}, {"blocks__0__heads": -2}),
    *({"blocks__0__query_tokens": 9}, {"blocks__0__bias": "encoder-1.bias"}, {"blocks__1__d_model": 14}),
    *({"sequences__0": []}, {"sequences__0__0__special": 0}, {"sequences__0__0__text": ["long"] * 999}),
    *({"sequences__0__0__word": "0"}, {"sequences__0__0__sentence": 2}, {"sequences__0__0": None}),
    # huge sizes, for which no memory may be allocated
    *({"blocks__0__heads": 10**9}, {"blocks__0__d_value": 10**30}, {"blocks__1__d_model": 10**9}),
    {"sequences__0": [TOKEN] * 5_000},
)


def test_an_invalid_header_is_refused() -> None:
    for change in INVALID_HEADERS:
        content = with_header(**change)
        with limited_memory(), pytest.raises(InvalidTrace) as error:
            from_bytes(content)
        assert len(str(error.value)) < 200, change


def test_the_error_names_another_version() -> None:
    assert_refused(with_header(version=1), r"version 1; this attnviz reads version 3\. Trace the text again")
    assert_refused(with_header(version="9" * 999), r"version '9+\.\.\.9+'; this")
    assert_refused(with_header(format="another"), "not a trace")
    file = io.BytesIO()  # files of version 1 were compressed
    np.savez_compressed(file, allow_pickle=False, header=np.frombuffer(b'{"version": 1}', np.uint8))
    assert_refused(file.getvalue(), "compressed, which version 3 does not allow")


def test_a_trace_that_is_too_large_is_neither_saved_nor_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    content, file = to_bytes(random_trace(6)), io.BytesIO()
    for name, limit, message in (
        ("MAX_HEADER_BYTES", 2**10, "header has"),
        ("MAX_BYTES", 2**12, r"has 0 MiB of arrays; .* Trace a shorter text"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(trace_io, name, limit)
            assert_refused(content, message)
            with pytest.raises(InvalidTrace, match=message):
                random_trace(6).save(file)
    assert file.getvalue() == b""


def test_compressed_arrays_are_refused() -> None:
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        for name in ("header.npy", "encoder-1.query.npy"):
            file = io.BytesIO(zipped({key: value for key, value in MEMBERS.items() if key != name}))
            with zipfile.ZipFile(file, "a", compression) as archive:
                archive.writestr(name, MEMBERS[name] + bytes(2**20))
            assert_refused(file.getvalue(), f"{name.removesuffix('.npy')} is compressed")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_additional_or_duplicate_entries_are_refused() -> None:
    for name in ("../../etc/passwd", "encoder-1.values.npy", "encoder-1.query.npy"):
        file = io.BytesIO(to_bytes(random_trace(6)))
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(name, MEMBERS["encoder-1.query.npy"])
        assert_refused(file.getvalue(), "its arrays differ from the list in its header|the same name")


def test_a_directory_that_is_too_large_is_refused() -> None:
    entry = b"PK\x01\x02" + bytes(42)
    count = trace_io.MAX_DIRECTORY_BYTES // len(entry) + 1
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count % 2**16, count % 2**16, count * len(entry), 0, 0)
    assert_refused(entry * count + end, "size of its directory")
    assert_refused(to_bytes(random_trace(6))[:-22] + end, "size of its directory")


def test_wrong_sizes_in_the_directory_allocate_no_memory() -> None:
    content = bytearray(to_bytes(random_trace(6)))
    for place in (content.index(b"PK\x01\x02"), content.rindex(b"PK\x01\x02")):
        for fields_changed in ([20], [24], [20, 24]):  # the compressed and uncompressed size of an entry
            changed = content.copy()
            for field in fields_changed:
                changed[place + field : place + field + 4] = struct.pack("<L", 2**32 - 2)
            assert_refused(bytes(changed), "is compressed|its arrays should")


FILE_CONTENT = to_bytes(random_trace(7))


PLACES = st.integers(0, len(FILE_CONTENT) - 1) | st.integers(
    FILE_CONTENT.index(b"PK\x01\x02"), len(FILE_CONTENT) - 1
)


@given(st.lists(st.tuples(PLACES, st.integers(1, 255)), min_size=1, max_size=3))
def test_changed_bytes_are_detected_or_have_no_effect(changes: list[tuple[int, int]]) -> None:
    content = bytearray(FILE_CONTENT)
    for place, change in changes:
        content[place] ^= change
    assert_refused_or_same(bytes(content))


@given(st.integers(0, len(FILE_CONTENT)), st.integers(0, len(FILE_CONTENT)), st.binary(max_size=50))
def test_a_replaced_part_is_detected_or_has_no_effect(start: int, end: int, replacement: bytes) -> None:
    assert_refused_or_same(FILE_CONTENT[:start] + replacement + FILE_CONTENT[end:])


def assert_refused_or_same(content: bytes) -> None:
    """Check that loading returns the same trace or raises InvalidTrace, and allocates little memory."""
    with limited_memory():
        try:
            trace = from_bytes(content)
        except InvalidTrace:
            return
    assert same(trace, random_trace(7))
