import io
import json
import tracemalloc
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib import format as npy

from attnviz import trace_file
from attnviz.errors import InvalidTrace
from attnviz.trace import Block, Token, Trace

HEADS, ENCODED, DECODED, D_HEAD, D_VALUE, D_MODEL = 2, 3, 5, 7, 11, 13
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def made(seed: int, text: str = "a <b>&\x00😀", with_more: bool = True) -> Trace:
    """An encoder–decoder's trace: three kinds of blocks, with and without bias and projection."""
    random = np.random.default_rng(seed)

    def tokens(count: int) -> tuple[Token, ...]:
        return tuple(
            Token(f"{text}{n}", n, n, n + 1, None if n == 0 else n - 1, n == 0) for n in range(count)
        )

    def block(kind: Any, layer: int, queries: int, keys: int, more: bool) -> Block:
        mask = random.random((queries, keys)) < 0.5
        mask[:, 1] = True
        return Block(
            kind=kind,
            layer=layer,
            query_tokens=tokens(queries),
            key_tokens=tokens(keys),
            query=random.normal(size=(HEADS, queries, D_HEAD)).astype(np.float32),
            key=random.normal(size=(HEADS, keys, D_HEAD)).astype(np.float32),
            value=random.normal(size=(HEADS, keys, D_VALUE)).astype(np.float32),
            mask=mask,
            scale=float(random.random()),
            bias=random.normal(size=(HEADS, queries, keys)).astype(np.float32) if more else None,
            projection=random.normal(size=(HEADS, D_VALUE, D_MODEL)).astype(np.float32) if more else None,
        )

    return Trace(
        model="a model",
        text=text,
        target=None if seed % 2 else text[::-1],
        blocks=(
            block("encoder", 0, ENCODED, ENCODED, more=False),
            block("encoder", 1, ENCODED, ENCODED, more=with_more),
            block("decoder", 0, DECODED, DECODED, more=with_more),
            block("cross", 0, DECODED, ENCODED, more=False),
        ),
    )


def written(trace: Trace, derived: bool = False) -> bytes:
    file = io.BytesIO()
    trace_file.write(trace, file, derived=derived)
    return file.getvalue()


def read(content: bytes) -> Trace:
    return trace_file.read(io.BytesIO(content))


def same(one: Trace, other: Trace) -> bool:
    """Every field equal, the arrays to the bit."""
    return (one.model, one.text, one.target, len(one.blocks)) == (
        other.model,
        other.text,
        other.target,
        len(other.blocks),
    ) and all(
        np.array_equal(getattr(a, field.name), getattr(b, field.name))
        if isinstance(getattr(a, field.name), np.ndarray)
        else getattr(a, field.name) == getattr(b, field.name)
        for a, b in zip(one.blocks, other.blocks, strict=True)
        for field in fields(Block)
    )


@given(st.integers(0, 2**32 - 1), TEXTS, st.booleans(), st.booleans())
def test_what_was_written_is_read(seed: int, text: str, with_more: bool, derived: bool) -> None:
    trace = made(seed, text, with_more)
    assert same(read(written(trace, derived)), trace)
    assert not same(read(written(trace, derived)), made(seed + 1, text, with_more))


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    for path in (tmp_path / "a trace", str(tmp_path / "b.npz")):
        trace_file.write(made(1), path)
        assert same(trace_file.read(path), made(1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a trace", "b.npz"]


def test_a_missing_file_is_an_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        trace_file.read(tmp_path / "nothing.npz")


def test_the_same_trace_gives_the_same_bytes() -> None:
    assert written(made(1)) == written(made(1))


def test_what_was_read_cannot_be_written_to() -> None:
    for block in read(written(made(2))).blocks:
        assert not block.query.flags.writeable
        assert not block.mask.flags.writeable


def test_anybody_with_numpy_can_read_it() -> None:
    trace = made(4)
    with np.load(io.BytesIO(written(trace, derived=True)), allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        assert (header["format"], header["version"], header["text"]) == ("attnviz trace", 1, trace.text)
        assert [block["name"] for block in header["blocks"]] == [
            "encoder-1",
            "encoder-2",
            "decoder-1",
            "cross-1",
        ]
        for block, described in zip(trace.blocks, header["blocks"], strict=True):
            assert described["layer"] == block.layer + 1
            for name in ("query", "scores", "weights"):
                assert np.array_equal(archive[f"{described['name']}.{name}"], getattr(block, name))
    with np.load(io.BytesIO(written(trace)), allow_pickle=False) as archive:
        assert not [name for name in archive if name.endswith(("scores", "weights"))]


def test_derived_arrays_are_not_believed() -> None:
    trace = made(5)
    members = unpacked(written(trace, derived=True))
    members["encoder-1.weights.npy"] = b"not an array"
    assert same(read(packed(members)), trace)


def unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def as_npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def with_array(name: str, array: np.ndarray[Any, Any]) -> bytes:
    return packed(unpacked(written(made(6))) | {f"{name}.npy": as_npy(array)})


def with_header(**changes: Any) -> bytes:
    members = unpacked(written(made(6)))
    header = json.loads(members["header.npy"][128:])
    for path, changed in changes.items():
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("__"))
        place: Any = header
        for parent in parents:
            place = place[parent]
        place[last] = changed
    encoded = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    return packed(members | {"header.npy": as_npy(encoded)})


class Exploding:
    """What a pickle in a file would do when it is opened."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was opened",))


def test_the_way_these_tests_damage_files_leaves_the_rest_alone() -> None:
    assert same(read(with_header()), made(6))
    assert same(read(with_array("encoder-1.query", made(6).blocks[0].query)), made(6))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK",
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"text,of,a,table\n1,2,3\n",
        as_npy(np.zeros(3)),
        packed({}),
        packed({"word/document.xml": b"<w/>"}),
        packed({"header.npy": b""}),
        packed({"header.npy": as_npy(np.frombuffer(b"{}", dtype=np.uint8))}),
        packed({"header.npy": as_npy(np.frombuffer(b"[1]", dtype=np.uint8))}),
        packed({"header.npy": as_npy(np.frombuffer(b"[" * 100_000, dtype=np.uint8))}),
        packed({"header.npy": as_npy(np.array([Exploding()], dtype=object))}),
        packed({"header.npy": as_npy(np.zeros(3))}),
    ],
    ids=range(13),
)
def test_foreign_files_are_refused(content: bytes) -> None:
    with pytest.raises(InvalidTrace, match=r"not a trace that attnviz wrote|damaged"):
        read(content)


@pytest.mark.parametrize(
    "array",
    [
        np.array([Exploding()] * (HEADS * ENCODED * D_HEAD), dtype=object).reshape(HEADS, ENCODED, D_HEAD),
        np.zeros((HEADS, ENCODED, D_HEAD)),
        np.zeros((HEADS, ENCODED, D_HEAD), dtype=">f4"),
        np.zeros((HEADS, ENCODED, D_HEAD), dtype=np.float32, order="F"),
        np.zeros((HEADS, D_HEAD, ENCODED), dtype=np.float32),
        np.zeros((HEADS, ENCODED + 1, D_HEAD), dtype=np.float32),
        np.zeros((), dtype=np.float32),
    ],
    ids=["objects", "float64", "big endian", "columns first", "turned", "a token more", "no shape"],
)
def test_arrays_other_than_the_described_are_refused(array: np.ndarray[Any, Any]) -> None:
    with pytest.raises(InvalidTrace, match=r"encoder-1\.query"):
        read(with_array("encoder-1.query", array))


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InvalidTrace, match="not finite"):
        read(with_array("encoder-1.query", np.full((HEADS, ENCODED, D_HEAD), np.nan, dtype=np.float32)))


def test_a_mask_of_strange_bytes_is_still_a_mask() -> None:
    members = unpacked(written(made(6)))
    name = "encoder-1.mask.npy"
    members[name] = members[name][:128] + bytes(7 * byte for byte in members[name][128:])
    assert same(read(packed(members)), made(6))


@pytest.mark.parametrize("extra", [-1, 1])
def test_an_array_of_another_length_than_it_says_is_refused(extra: int) -> None:
    members = unpacked(written(made(6)))
    array = members["encoder-1.query.npy"]
    members["encoder-1.query.npy"] = array[:-1] if extra < 0 else array + b"0"
    with pytest.raises(InvalidTrace, match="does not hold 168 bytes"):
        read(packed(members))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "another"}, "not a trace"),
        ({"version": 2}, "version 2; this attnviz reads version 1"),
        ({"model": 3}, "3 is not of type str"),
        ({"text": None}, "None is not of type str"),
        ({"target": []}, "not of type str"),
        ({"blocks": None}, "damaged"),
        ({"blocks__0__kind": "sideways"}, "no kind of attention"),
        ({"blocks__0__kind": ["encoder"]}, "no kind of attention"),
        ({"blocks__0__layer": 0}, "not a size"),
        ({"blocks__0__layer": True}, "not of type int"),
        ({"blocks__0__layer": 2}, "2 blocks for encoder layer 1"),
        ({"blocks__0__name": "../../x"}, "damaged"),
        ({"blocks__0__name": "encoder-9"}, "damaged"),
        ({"blocks__0__scale": "1"}, "not of type float"),
        ({"blocks__0__scale": float("nan")}, "scale is nan"),
        ({"blocks__0__heads": -2}, "not a size"),
        ({"blocks__0__heads": 2.0}, "not of type int"),
        ({"blocks__0__query_tokens": 9}, "damaged"),
        ({"blocks__0__query_tokens": 1}, "not the array that its header describes"),
        ({"blocks__0__bias": 1}, "not of type bool"),
        ({"blocks__0__bias": True}, "damaged"),
        ({"blocks__0__d_model": 13}, "damaged"),
        ({"sequences__0": []}, "not a size"),
        ({"sequences__0__0__special": 0}, "not of type bool"),
        ({"sequences__0__0__text": 5}, "not of type str"),
        ({"sequences__0__0__word": "0"}, "not of type int"),
        ({"sequences__0__0": None}, "damaged"),
    ],
)
def test_a_header_that_is_wrong_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidTrace, match=said):
        read(with_header(**change))


@pytest.mark.parametrize(
    "change",
    [
        {"blocks__0__heads": 10**9},
        {"blocks__0__d_head": 10**12},
        {"blocks__0__d_value": 10**30},
        {"blocks__1__d_model": 10**9},
        {
            "sequences__0": [{"text": "", "id": 0, "start": 0, "end": 0, "word": None, "special": False}]
            * 30_000
        },
    ],
    ids=["heads", "d_head", "d_value", "d_model", "tokens"],
)
def test_absurd_sizes_are_refused_before_memory_is_taken(change: dict[str, Any]) -> None:
    content = with_header(**change)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidTrace, match=r"claims [\d,]+ MiB of numbers; attnviz reads at most 1,024"):
            read(content)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


def test_an_array_that_unpacks_to_more_than_it_should_is_not_unpacked() -> None:
    members = unpacked(written(made(6)))
    content = packed(members | {"encoder-1.query.npy": members["encoder-1.query.npy"] + bytes(2**28)})
    assert len(content) < 2**20
    tracemalloc.start()
    try:
        with pytest.raises(InvalidTrace, match="does not hold 168 bytes"):
            read(content)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_a_header_array_that_claims_an_absurd_size_takes_no_memory() -> None:
    members = unpacked(written(made(6)))
    claim = io.BytesIO()
    npy.write_array_header_1_0(claim, {"descr": "|u1", "fortran_order": False, "shape": (10**12,)})
    tracemalloc.start()
    try:
        trace = read(packed(members | {"header.npy": claim.getvalue() + members["header.npy"][128:]}))
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
    assert same(trace, made(6))


def test_a_header_too_large_is_refused() -> None:
    header = as_npy(np.frombuffer(b" " * (trace_file.MOST_HEADER_BYTES + 1), dtype=np.uint8))
    with pytest.raises(InvalidTrace, match="header claims"):
        read(packed({"header.npy": header}))


@given(st.data())
def test_a_changed_byte_is_noticed_or_does_not_matter(data: st.DataObject) -> None:
    content = bytearray(written(made(7)))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    try:
        trace = read(bytes(content))
    except InvalidTrace:
        return
    assert same(trace, made(7))


@given(st.data())
def test_a_file_cut_short_is_refused(data: st.DataObject) -> None:
    content = written(made(7))
    with pytest.raises(InvalidTrace):
        read(content[: data.draw(st.integers(0, len(content) - 1))])


def test_a_trace_without_its_projection_is_a_tenth_of_the_size() -> None:
    whole = made(8)
    noise = np.random.default_rng(1).normal(size=(HEADS, D_VALUE, 1009))
    wide = replace(whole.blocks[1], projection=noise.astype(np.float32))
    slim = replace(wide, projection=None)
    sizes = [len(written(replace(whole, blocks=(block,)))) for block in (wide, slim)]
    assert sizes[0] > 10 * sizes[1]
