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
    made = block(seed, scale=scale)
    assert made.bias is not None
    for head, query in np.ndindex(HEADS, QUERIES):
        row = np.array([float(made.query[head, query] @ key) * scale for key in made.key[head]])
        row += made.bias[head, query]
        np.testing.assert_allclose(made.scores[head, query], row, rtol=1e-4, atol=1e-4)
        read = sum(w * v for w, v in zip(made.weights[head, query], made.value[head], strict=True))
        np.testing.assert_allclose(made.output[head, query], read, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["query", "key", "value", "mask", "bias", "projection", "scores", "weights", "output"]
)
def test_no_array_can_be_written_to(name: str) -> None:
    array = getattr(block(), name)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1


def test_what_the_caller_writes_later_stays_outside() -> None:
    query = np.ones((HEADS, QUERIES, D_HEAD), dtype=np.float32)
    read_only_view = query.view()
    read_only_view.setflags(write=False)
    for given_array in (query, read_only_view):
        made = block(query=given_array)
        query[:] = 7
        assert (made.query == 1).all()
        query[:] = 1


def test_an_array_that_is_read_only_already_is_shared() -> None:
    own = np.ones((HEADS, D_VALUE, D_MODEL), dtype=np.float32)
    own.setflags(write=False)
    for _ in range(2):
        assert block(projection=own).projection is own
        infinite = np.full_like(own, np.inf)
        infinite.setflags(write=False)
        with pytest.raises(InvalidTrace, match="not finite"):
            block(projection=infinite)
    wide = own.astype(np.float64)
    wide.setflags(write=False)
    turned = np.array(own, order="F")
    turned.setflags(write=False)
    for other in (wide, turned):
        made = block(projection=other).projection
        assert made is not None
        assert made is not other
        assert made.dtype == np.float32
        assert made.flags.c_contiguous


@pytest.mark.parametrize(
    ("name", "array", "said"),
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
        ("scale", float("nan"), "scale is nan"),
    ],
)
def test_what_cannot_be_a_forward_pass_is_refused(name: str, array: object, said: str) -> None:
    changes: dict[str, Any] = {name: array}
    with pytest.raises(InvalidTrace, match=said):
        block(**changes)


def test_a_query_that_may_look_nowhere_is_refused_with_the_reason() -> None:
    mask = np.ones((QUERIES, KEYS), dtype=np.bool_)
    mask[1] = False
    with pytest.raises(InvalidTrace, match="All keys of token 2 are masked"):
        block(mask=mask)


def trace() -> Trace:
    """Two layers of cross-attention in the wrong order, and one of the encoder."""
    encoder = block(3, keys=QUERIES, kind="encoder", layer=0)
    return Trace(model="m", text="t", target="u", blocks=(block(2, layer=1), encoder, block(1, layer=0)))


def test_blocks_are_found_by_kind_and_layer() -> None:
    made = trace()
    second, encoder, first = made.blocks
    assert made.of_kind("cross") == (first, second)
    assert made.block("cross", layer=0) is first
    assert made.block("cross", layer=1) is second
    assert made.block("encoder", layer=0) is encoder


def test_the_stack_is_every_layer_in_order() -> None:
    stack = trace().stack("cross")
    assert stack.shape == (2, HEADS, QUERIES, KEYS)
    assert stack.dtype == np.float32
    assert np.array_equal(stack[1], trace().block("cross", layer=1).weights)
    assert not stack.flags.writeable


def test_what_a_model_does_not_have_is_refused_with_what_it_has() -> None:
    with pytest.raises(InvalidTrace, match="m has no decoder attention; it has: cross, encoder"):
        trace().of_kind("decoder")
    with pytest.raises(InvalidTrace, match="m has cross layers 0 to 1, counted from 0 in Python, not 2"):
        trace().block("cross", layer=2)
    with pytest.raises(InvalidTrace, match="not -1"):
        trace().block("cross", layer=-1)


def test_one_layer_cannot_be_there_twice() -> None:
    with pytest.raises(InvalidTrace, match="2 blocks for cross layer 1"):
        Trace(model="m", text="t", blocks=(block(1), block(2)))
