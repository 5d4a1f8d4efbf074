from itertools import combinations

import numpy as np

from attnviz.analysis.aligned import Place
from attnviz.analysis.distance import (
    changes,
    largest_difference,
    ranked,
    rows_on,
    total_variation,
)
from attnviz.trace import Floats


def rows(seed: int, *shape: int) -> Floats:
    """Random rows that sum to 1, a third of their weights 0."""
    random = np.random.default_rng(seed)
    numbers = random.random(shape) * (random.random(shape) > 1 / 3)
    numbers[..., 0] += 0.01
    return np.asarray(numbers / numbers.sum(axis=-1, keepdims=True), dtype=np.float32)


def test_total_variation_by_hand() -> None:
    first = np.array([[0.5, 0.5, 0], [1, 0, 0]], dtype=np.float32)
    second = np.array([[0.25, 0.25, 0.5], [0, 1, 0]], dtype=np.float32)
    assert total_variation(first, second).tolist() == [0.5, 1]


def test_what_a_row_lacks_went_to_a_sink_which_is_one_key_more() -> None:
    whole = np.array([[0.5, 0.25, 0.25], [0, 0.25, 0.75], [1, 0, 0]], dtype=np.float32)
    for first, second in combinations(range(3), 2):
        cut = total_variation(whole[first, :2], whole[second, :2])
        assert cut == total_variation(whole[first], whole[second])


ROWS = (Place(0, 0, same=True), Place(1, None, same=False), Place(2, 1, same=False))
COLUMNS = (Place(0, 0, same=True), Place(None, 1, same=False), Place(1, 2, same=True))


def test_a_word_that_one_text_lacks_counts_as_0_there() -> None:
    second = np.array([[0.25, 0.5, 0.25], [0, 0.25, 0.75]], dtype=np.float32)
    first = np.array([[0.5, 0.5], [1, 0], [0.25, 0.75]], dtype=np.float32)
    assert rows_on(first, ROWS, COLUMNS, "first").tolist() == [[0.5, 0, 0.5], [0.25, 0, 0.75]]
    moved = changes(first[None, None], second[None, None], ROWS, COLUMNS)
    assert moved.tolist() == [[[0.5, 0.25]]]
    assert largest_difference(first[None, None], second[None, None], ROWS, COLUMNS) == 0.25


def test_every_head_is_measured_by_itself() -> None:
    first, second = rows(1, 5, 3, 3, 2), rows(2, 5, 3, 2, 3)
    moved = changes(first, second, ROWS, COLUMNS)
    assert moved.shape == (5, 3, 2)
    one, other = rows_on(first[4, 1], ROWS, COLUMNS, "first"), rows_on(second[4, 1], ROWS, COLUMNS, "second")
    np.testing.assert_array_equal(moved[4, 1], total_variation(one, other))


def test_equal_heads_stay_in_their_order() -> None:
    values = np.array([[0.25, 0.5, 0.5], [0.75, 0.25, 0]], dtype=np.float32)
    assert ranked(values) == ((1, 0), (0, 1), (0, 2), (0, 0), (1, 1), (1, 2))
    assert ranked(values, largest_first=False) == ((1, 2), (0, 0), (1, 1), (0, 1), (0, 2), (1, 0))
