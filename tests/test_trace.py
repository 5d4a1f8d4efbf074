from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.errors import InvalidTrace
from attnviz.trace import Trace
from tests.formula import D_HEAD, D_MODEL, D_VALUE, HEADS, KEYS, QUERIES, block


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 30))
def test_scores_and_output_follow_from_the_stored_arrays(seed: int, scale: float) -> None:
    found = block(seed, scale=scale)
    assert found.bias is not None
    for head, query in np.ndindex(HEADS, QUERIES):
        row = np.array([float(found.query[head, query] @ key) * scale for key in found.key[head]])
        row += found.bias[head, query]
        np.testing.assert_allclose(found.scores[head, query], row, rtol=1e-4, atol=1e-4)
        output = sum(w * v for w, v in zip(found.weights[head, query], found.value[head], strict=True))
        np.testing.assert_allclose(found.output[head, query], output, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["query", "key", "value", "mask", "bias", "projection", "scores", "weights", "output"]
)
def test_arrays_are_read_only(name: str) -> None:
    array = getattr(block(), name)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1


def test_later_changes_to_a_given_array_do_not_change_the_block() -> None:
    query = np.ones((HEADS, QUERIES, D_HEAD), dtype=np.float32)
    read_only_view = query.view()
    read_only_view.setflags(write=False)
    for given_array in (query, read_only_view):
        found = block(query=given_array)
        query[:] = 7
        assert (found.query == 1).all()
        query[:] = 1


def test_a_read_only_array_is_shared_instead_of_copied() -> None:
    projection = np.ones((HEADS, D_VALUE, D_MODEL), dtype=np.float32)
    projection.setflags(write=False)
    for _ in range(2):
        assert block(projection=projection).projection is projection
        infinite = np.full_like(projection, np.inf)
        infinite.setflags(write=False)
        with pytest.raises(InvalidTrace, match="not finite"):
            block(projection=infinite)
    double = projection.astype(np.float64)
    double.setflags(write=False)
    fortran = np.array(projection, order="F")
    fortran.setflags(write=False)
    for other in (double, fortran):
        stored = block(projection=other).projection
        assert stored is not None
        assert stored is not other
        assert stored.dtype == np.float32
        assert stored.flags.c_contiguous


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("query", np.zeros((HEADS, QUERIES)), "query has 2 dimensions"),
        ("query", np.zeros((HEADS, KEYS, D_HEAD)), "query has shape"),
        ("key", np.zeros((HEADS + 1, KEYS, D_HEAD)), "key has shape"),
        ("value", np.zeros((HEADS, QUERIES, D_VALUE)), "value has shape"),
        ("mask", np.ones((KEYS, QUERIES), dtype=np.bool_), "mask has shape"),
        ("bias", np.zeros((QUERIES, KEYS)), "bias has shape"),
        ("projection", np.zeros((HEADS, D_HEAD, D_MODEL)), "projection has shape"),
        ("query", np.full((HEADS, QUERIES, D_HEAD), np.nan), "not finite"),
        ("bias", np.full((HEADS, QUERIES, KEYS), -np.inf), "not finite"),
        ("weights", np.zeros((HEADS, KEYS, QUERIES)), "weights has shape"),
        ("weights", np.full((HEADS, QUERIES, KEYS), 1.001), "outside the range 0 to 1"),
        ("weights", np.full((HEADS, QUERIES, KEYS), -1e-9), "outside the range 0 to 1"),
        ("scale", float("nan"), "scale must be a finite number, not nan"),
    ],
)
def test_invalid_arrays_are_refused(name: str, array: object, message: str) -> None:
    changes: dict[str, Any] = {name: array}
    with pytest.raises(InvalidTrace, match=message):
        block(**changes)


def test_a_query_with_all_keys_masked_is_refused() -> None:
    mask = np.ones((QUERIES, KEYS), dtype=np.bool_)
    mask[1] = False
    with pytest.raises(InvalidTrace, match="All keys are masked for query token 2"):
        block(mask=mask)


def trace() -> Trace:
    """Return a trace of an encoder block and two cross-attention blocks, not sorted by layer."""
    encoder = block(3, keys=QUERIES, kind="encoder", layer=0)
    return Trace(model="m", text="t", target="u", blocks=(block(2, layer=1), encoder, block(1, layer=0)))


def test_blocks_are_found_by_kind_and_layer() -> None:
    found = trace()
    second, encoder, first = found.blocks
    assert found.of_kind("cross") == (first, second)
    assert found.block("cross", layer=0) is first
    assert found.block("cross", layer=1) is second
    assert found.block("encoder", layer=0) is encoder


def test_the_stack_contains_every_layer_in_order() -> None:
    stack = trace().stack("cross")
    assert stack.shape == (2, HEADS, QUERIES, KEYS)
    assert stack.dtype == np.float32
    assert np.array_equal(stack[1], trace().block("cross", layer=1).weights)
    assert not stack.flags.writeable


def test_a_missing_block_is_refused_and_the_error_lists_existing_blocks() -> None:
    with pytest.raises(InvalidTrace, match="m has no decoder attention; it has: cross, encoder"):
        trace().of_kind("decoder")
    with pytest.raises(InvalidTrace, match="m has cross layers 0 to 1, counted from 0 in Python, not 2"):
        trace().block("cross", layer=2)
    with pytest.raises(InvalidTrace, match="not -1"):
        trace().block("cross", layer=-1)


def test_two_blocks_of_the_same_layer_are_refused() -> None:
    with pytest.raises(InvalidTrace, match="2 blocks for cross layer 2"):
        Trace(model="m", text="t", blocks=(block(1), block(2)))
