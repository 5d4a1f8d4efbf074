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


def made(seed: int, text: str = "a <b>&\x00😀", with_more: bool = True) -> Trace:
    """An encoder–decoder's trace: three kinds of blocks, with and without bias and projection."""
    random = np.random.default_rng(seed)

    def tokens(count: int) -> tuple[Token, ...]:
        return tuple(
            Token(f"{text}{n}", n, n, n + 1, None if n == 0 else n - 1, n == 0, n % 2) for n in range(count)
        )

    def block(kind: Any, layer: int, queries: int, keys: int, more: bool) -> Block:
        return random_block(
            int(random.integers(2**31)),
            queries,
            keys,
            more,
            kind=kind,
            layer=layer,
            query_tokens=tokens(queries),
            key_tokens=tokens(keys),
            weights=random.random((HEADS, queries, keys)).astype(np.float32),  # of a model that is nobody's
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
            block("encoder", 0, ENCODED, ENCODED, more=False),
            block("encoder", 1, ENCODED, ENCODED, more=with_more),
            block("decoder", 0, DECODED, DECODED, more=with_more),
            block("cross", 0, DECODED, ENCODED, more=False),
        ),
    )


def written(trace: Trace) -> bytes:
    file = io.BytesIO()
    trace.save(file)
    return file.getvalue()


def read(content: bytes) -> Trace:
    return Trace.load(io.BytesIO(content))


def to_the_bit(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())
    return one == other


def same(one: Trace, other: Trace) -> bool:
    """Every field equal, the arrays to the bit, what the models computed too."""
    of_traces = [field.name for field in fields(Trace) if field.name != "blocks"]
    of_blocks = [field.name for field in fields(Block)]
    return (
        all(getattr(one, name) == getattr(other, name) for name in of_traces)
        and len(one.blocks) == len(other.blocks)
        and all(
            to_the_bit(getattr(a, name), getattr(b, name))
            for a, b in zip(one.blocks, other.blocks, strict=True)
            for name in (*of_blocks, "scores", "output")
        )
    )


@given(st.integers(0, 2**32 - 1), TEXTS, st.booleans())
def test_what_was_written_is_read(seed: int, text: str, with_more: bool) -> None:
    trace = made(seed, text, with_more)
    again = read(written(trace))
    assert same(again, trace)
    assert written(again) == written(trace)
    assert not same(again, made(seed + 1, text, with_more))


def test_what_was_read_can_be_sent_to_another_process() -> None:
    again: Trace = pickle.loads(pickle.dumps(read(written(made(1)))))  # noqa: S301 - our own
    assert same(again, made(1))


def test_sinks_are_written() -> None:
    trace = made(2)
    sinks = np.array([-1.5, 0.25], np.float32)
    sunk = replace(trace, blocks=tuple(replace(block, sinks=sinks) for block in trace.blocks))
    assert same(read(written(sunk)), sunk)
    for wrong in (np.zeros(3, np.float32), np.array([np.nan, 0], np.float32)):
        with pytest.raises(InvalidTrace, match="sinks"):
            replace(trace.blocks[0], sinks=wrong)


def test_what_blocks_share_is_kept_once_and_shared_again() -> None:
    trace = made(3)
    one, other = trace.blocks[0], replace(trace.blocks[1], mask=trace.blocks[0].mask)
    unshared = len(written(replace(trace, blocks=(one, trace.blocks[1]))))
    content = written(replace(trace, blocks=(one, other)))
    assert unshared - len(content) > one.mask.nbytes
    again = read(content)
    assert same(again, replace(trace, blocks=(one, other)))
    assert again.blocks[0].mask is again.blocks[1].mask


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    for path in (tmp_path / "a trace", str(tmp_path / "b.npz")):
        made(1).save(path)
        assert same(Trace.load(path), made(1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a trace", "b.npz"]


def test_anybody_with_numpy_can_read_it() -> None:
    trace = made(4)
    with np.load(io.BytesIO(written(trace)), allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        assert (header["format"], header["version"], header["text"]) == ("attnviz trace", 3, trace.text)
        names = [block["name"] for block in header["blocks"]]
        assert names == ["encoder-1", "encoder-2", "decoder-1", "cross-1"]
        for block, described in zip(trace.blocks, header["blocks"], strict=True):
            assert described["layer"] == block.layer + 1
            for name in ("query", "key", "value", "weights"):
                assert np.array_equal(archive[f"{described['name']}.{name}"], getattr(block, name))
            assert np.array_equal(archive[described["mask"]], block.mask)


def unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


MEMBERS = unpacked(written(made(6)))


def packed(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
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
    return packed(MEMBERS | {f"{name}.npy": as_npy(array)})


def with_header(**changes: Any) -> bytes:
    header = json.loads(MEMBERS["header.npy"][128:])
    for path, changed in changes.items():
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("__"))
        place: Any = header
        for parent in parents:
            place = place[parent]
        place[last] = changed
    encoded = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    return packed(MEMBERS | {"header.npy": as_npy(encoded)})


class Exploding:
    """What a pickle in a file would do when it is opened."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was opened",))


def refused(content: bytes, said: str = "damaged") -> None:
    with little_memory(), pytest.raises(InvalidTrace, match=said):
        read(content)


@contextmanager
def little_memory() -> Iterator[None]:
    """Fails if more than 16 MiB are taken meanwhile."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_the_way_these_tests_damage_files_leaves_the_rest_alone() -> None:
    assert same(read(with_header()), made(6))
    assert same(read(with_array("encoder-1.query", made(6).blocks[0].query)), made(6))


def test_foreign_files_are_refused() -> None:
    for header in (b"{}", b"[1]", b"[" * 100_000):
        refused(packed({"header.npy": as_npy(np.frombuffer(header, dtype=np.uint8))}))
    for array in (np.array([Exploding()], dtype=object), np.zeros(3)):
        refused(packed({"header.npy": as_npy(array)}))
    refused(packed({"header.npy": b""}))
    refused(packed({"word/document.xml": b"<w/>"}))
    refused(packed({}))
    text = b"a text that is longer than 22 bytes are"
    for content in (b"", b"PK", b"\x89PNG\r\n\x1a\n" + bytes(100), text, as_npy(np.zeros(3))):
        refused(
            content, r"attnviz wrote: it is not an NPZ file, .* truncated\.$"
        )  # in words, without internals


def test_arrays_other_than_the_described_are_refused() -> None:
    shape = (HEADS, ENCODED, D_HEAD)
    for array in (
        np.array([Exploding()] * math.prod(shape), dtype=object).reshape(shape),
        np.zeros(shape),
        np.zeros(shape, dtype=">f4"),
        np.zeros(shape, dtype=np.uint8),
        np.zeros(shape, dtype=np.bool_),
        np.zeros(shape, dtype=np.float32, order="F"),
        np.zeros((HEADS, D_HEAD, ENCODED), dtype=np.float32),
        np.zeros((HEADS, ENCODED + 1, D_HEAD), dtype=np.float32),
        np.zeros((), dtype=np.float32),
    ):
        refused(with_array("encoder-1.query", array), "damaged|has shape|dimensions")
    for wrong in (MEMBERS["encoder-1.query.npy"][:-1], MEMBERS["encoder-1.query.npy"] + b"0"):
        refused(packed(MEMBERS | {"encoder-1.query.npy": wrong}), "encoder-1.query.npy is not an array")


TOKEN = {"text": "", "id": 0, "start": 0, "end": 0, "word": None, "special": False, "sentence": 0}

WRONG: tuple[dict[str, Any], ...] = (
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
    # absurd sizes, for which no memory may be taken
    *({"blocks__0__heads": 10**9}, {"blocks__0__d_value": 10**30}, {"blocks__1__d_model": 10**9}),
    {"sequences__0": [TOKEN] * 5_000},
)


def test_a_header_that_is_wrong_is_refused() -> None:
    for change in WRONG:
        content = with_header(**change)
        with little_memory(), pytest.raises(InvalidTrace) as error:
            read(content)
        assert len(str(error.value)) < 200, change


def test_a_file_of_another_version_is_told_from_a_damaged_one() -> None:
    refused(with_header(version=1), r"version 1; this attnviz reads version 3\. Trace the text again")
    refused(with_header(version="9" * 999), r"version '9+\.\.\.9+'; this")
    refused(with_header(format="another"), "not a trace")
    file = io.BytesIO()  # version 1 was packed
    np.savez_compressed(file, allow_pickle=False, header=np.frombuffer(b'{"version": 1}', np.uint8))
    refused(file.getvalue(), "only in files before version 3")


def test_a_trace_too_large_is_neither_written_nor_read(monkeypatch: pytest.MonkeyPatch) -> None:
    content, file = written(made(6)), io.BytesIO()
    for name, most, said in (
        ("MAX_HEADER_BYTES", 2**10, "header claims"),
        ("MAX_BYTES", 2**12, r"claims 0 MiB of arrays; .* Trace a shorter text"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(trace_io, name, most)
            refused(content, said)
            with pytest.raises(InvalidTrace, match=said):
                made(6).save(file)
    assert file.getvalue() == b""


def test_what_unpacks_is_not_unpacked() -> None:
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        for name in ("header.npy", "encoder-1.query.npy"):
            file = io.BytesIO(packed({key: value for key, value in MEMBERS.items() if key != name}))
            with zipfile.ZipFile(file, "a", compression) as archive:
                archive.writestr(name, MEMBERS[name] + bytes(2**20))
            refused(file.getvalue(), f"{name.removesuffix('.npy')} is compressed")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_more_or_twice_is_refused() -> None:
    for more in ("../../etc/passwd", "encoder-1.values.npy", "encoder-1.query.npy"):
        file = io.BytesIO(written(made(6)))
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(more, MEMBERS["encoder-1.query.npy"])
        refused(file.getvalue(), "its arrays differ from those in its header|the same name")


def test_a_list_of_contents_too_long_is_refused_unread() -> None:
    entry = b"PK\x01\x02" + bytes(42)
    count = trace_io.MAX_DIRECTORY_BYTES // len(entry) + 1
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count % 2**16, count % 2**16, count * len(entry), 0, 0)
    refused(entry * count + end, "directory claims")
    refused(written(made(6))[:-22] + end, "directory claims")


def test_a_list_of_contents_that_lies_takes_no_memory() -> None:
    content = bytearray(written(made(6)))
    for place in (content.index(b"PK\x01\x02"), content.rindex(b"PK\x01\x02")):
        for lying in ([20], [24], [20, 24]):  # how long an entry is, packed and unpacked
            changed = content.copy()
            for field in lying:
                changed[place + field : place + field + 4] = struct.pack("<L", 2**32 - 2)
            refused(bytes(changed), "is compressed|its arrays claim")


WRITTEN = written(made(7))


PLACES = st.integers(0, len(WRITTEN) - 1) | st.integers(WRITTEN.index(b"PK\x01\x02"), len(WRITTEN) - 1)


@given(st.lists(st.tuples(PLACES, st.integers(1, 255)), min_size=1, max_size=3))
def test_a_changed_byte_is_noticed_or_does_not_matter(changes: list[tuple[int, int]]) -> None:
    content = bytearray(WRITTEN)
    for place, change in changes:
        content[place] ^= change
    noticed_or_the_same(bytes(content))


@given(st.integers(0, len(WRITTEN)), st.integers(0, len(WRITTEN)), st.binary(max_size=50))
def test_a_part_that_is_replaced_is_noticed_or_does_not_matter(start: int, end: int, by: bytes) -> None:
    noticed_or_the_same(WRITTEN[:start] + by + WRITTEN[end:])


def noticed_or_the_same(content: bytes) -> None:
    """Never another error, never another trace, never much memory."""
    with little_memory():
        try:
            trace = read(content)
        except InvalidTrace:
            return
    assert same(trace, made(7))
