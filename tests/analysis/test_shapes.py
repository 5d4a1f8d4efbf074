"""Kovaleva's five shapes: matrices made by hand, what even attention is, and the laws of the sums."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from attnviz.analysis.shapes import SHAPES, ShapeSums, shapes
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from attnviz.trace import Floats

Matrix = NDArray[np.floating]

SIZE = 11
EVEN = np.full((SIZE, SIZE), 1 / SIZE)
PAIR = [0] * 5 + [1] * 6

COLUMNS = np.zeros((SIZE, SIZE))
COLUMNS[:, [0, 7]] = 0.75, 0.25
DIAGONAL = np.eye(SIZE, k=-1) + np.eye(SIZE, k=1)
DIAGONAL /= DIAGONAL.sum(axis=-1, keepdims=True)
BLOCKS = (np.array(PAIR)[:, None] == PAIR) / np.bincount(PAIR)[PAIR][:, None]

MADE = {
    "vertical": COLUMNS,
    "diagonal": DIAGONAL,
    "vertical + diagonal": (COLUMNS + DIAGONAL) / 2,
    "block": BLOCKS,
    "heterogeneous": EVEN,
}


def summed(
    *heads: Matrix, sentence_of: list[int] | None = None, mask: Matrix | None = None, copies: int = 1
) -> ShapeSums:
    """The sums of one layer with these heads' weights, in equal sentences."""
    weights = np.repeat(np.stack(heads)[None].astype(np.float32), copies, axis=0)
    size = weights.shape[-1]
    allowed = np.ones((size, size), dtype=np.bool_) if mask is None else mask.astype(np.bool_)
    return shapes([weights], [allowed], sentence_of or [0] * size)


def test_each_made_matrix_has_its_shape() -> None:
    found = summed(*MADE.values(), sentence_of=PAIR).shapes
    assert [SHAPES[number].name for number in found[0]] == list(MADE)
    assert [shape.name for shape in SHAPES] == list(MADE)


@pytest.mark.parametrize(
    ("beyond_even", "shape"),
    [
        ((0.9, 0.2, 1), "vertical + diagonal"),
        ((0.2, 0.2, 1), "vertical + diagonal"),
        ((0.2, 0.9, 1), "vertical + diagonal"),
        ((0.4, 0.19, 1), "vertical"),
        ((0.19, 0.4, 1), "diagonal"),
        ((0.39, 0.19, 0.4), "block"),
        ((0.19, 0.39, 0.39), "heterogeneous"),
    ],
)
def test_from_where_on_a_head_has_a_shape(beyond_even: tuple[float, float, float], shape: str) -> None:
    nothing, sentence = np.zeros((3, 1)), np.ones((3, 1))
    sums = ShapeSums(1, np.reshape(beyond_even, (3, 1, 1)), nothing, sentence)
    assert SHAPES[sums.shapes.item()].name == shape


def test_the_measures_by_hand() -> None:
    """Three tokens, and two heads: even attention gives the strongest two columns 2/3, the diagonals 7/9."""
    looks = np.array([[0.5, 0.0, 0.5], [0.25, 0.5, 0.25], [0.75, 0.0, 0.25]])
    beyond = summed(looks, np.eye(3), sentence_of=[0, 0, 1]).beyond_even[:, 0]
    strongest = (1.5 + 1.0) / 3
    band = (0.5 + 1 + 0.25) / 3
    own = (0.5 + 0.75 + 0.25) / 3
    np.testing.assert_allclose(
        beyond[:, 0],
        [(strongest - 2 / 3) / (1 / 3), (band - 7 / 9) / (2 / 9), (own - 5 / 9) / (4 / 9)],
        atol=1e-6,
    )
    np.testing.assert_allclose(beyond[:, 1], [0, 1, 1], atol=1e-6)


@pytest.mark.parametrize("mask", [np.ones((SIZE, SIZE)), np.tri(SIZE)], ids=["everywhere", "no look ahead"])
def test_even_attention_is_nothing(mask: Matrix) -> None:
    sums = summed(mask / mask.sum(axis=-1, keepdims=True), sentence_of=PAIR, mask=mask)
    np.testing.assert_allclose(sums.beyond_even, 0, atol=1e-6)
    assert SHAPES[sums.shapes[0, 0]].name == "heterogeneous"


def test_without_a_pair_there_is_no_block() -> None:
    sums = summed(BLOCKS, copies=2)
    assert np.isnan(sums.beyond_even[2]).all()
    assert SHAPES[sums.shapes[0, 0]].name == "heterogeneous"
    # Single sentences beside pairs leave what the pairs say as it is.
    pairs = summed(BLOCKS, sentence_of=PAIR)
    np.testing.assert_allclose((sums + pairs).beyond_even[2], pairs.beyond_even[2])


def test_one_token_says_nothing() -> None:
    assert np.isnan(summed(np.ones((1, 1))).beyond_even[:2]).all()


def test_only_of_self_attention() -> None:
    with pytest.raises(ValueError, match="same tokens"):
        shapes([np.full((1, 1, 3, 5), 0.2, dtype=np.float32)], [np.ones((3, 5), dtype=np.bool_)], [0] * 3)


def rows(size: int) -> st.SearchStrategy[Floats]:
    positive = st.floats(0.0009765625, 1, width=32)
    return arrays(np.float32, (3, size, size), elements=positive).map(
        lambda drawn: drawn / drawn.sum(axis=-1, keepdims=True)
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(3, 7).flatmap(rows), min_size=2, max_size=4))
def test_parts_may_be_added_in_any_order(sentences: list[Floats]) -> None:
    sums = [summed(*heads) for heads in sentences]
    forwards, backwards = reduce(add, sums), reduce(add, reversed(sums))
    np.testing.assert_allclose(forwards.beyond_even, backwards.beyond_even, atol=1e-9)
    assert forwards.sentences == len(sentences)
    assert forwards.beyond_even[:2].max() <= 1 + 1e-6


@settings(max_examples=40, deadline=None)
@given(rows(5), st.permutations(range(5)))
def test_columns_do_not_mind_the_order_of_tokens_and_diagonals_not_its_direction(
    heads: Floats, order: list[int]
) -> None:
    before = summed(*heads).beyond_even
    np.testing.assert_allclose(summed(*heads[:, order][:, :, order]).beyond_even[0], before[0], atol=1e-5)
    np.testing.assert_allclose(summed(*heads[:, ::-1, ::-1]).beyond_even[:2], before[:2], atol=1e-5)
