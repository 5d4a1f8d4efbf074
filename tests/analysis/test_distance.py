from itertools import combinations
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.aligned import Place
from attnviz.analysis.distance import (
    Measure,
    changes,
    from_one_head,
    jensen_shannon,
    largest_difference,
    ranked,
    rows_on,
    total_variation,
)
from attnviz.trace import Floats

BOTH = pytest.mark.parametrize("measure", [total_variation, jensen_shannon])


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


def test_jensen_shannon_by_hand() -> None:
    first, second = np.array([[1, 0]], dtype=np.float32), np.array([[0.5, 0.5]], dtype=np.float32)
    # m = (3/4, 1/4): ½ · log₂ 4/3 + ½ · (½ log₂ 2/3 + ½ log₂ 2)
    expected = 0.5 * np.log2(4 / 3) + 0.25 * np.log2(2 / 3) + 0.25
    assert jensen_shannon(first, second).tolist() == pytest.approx([expected])


def test_what_a_row_lacks_went_to_a_sink_which_is_one_key_more() -> None:
    whole = np.array([[0.5, 0.25, 0.25], [0, 0.25, 0.75], [1, 0, 0]], dtype=np.float32)
    for measure in (total_variation, jensen_shannon):
        for first, second in combinations(range(3), 2):
            assert measure(whole[first, :2], whole[second, :2]) == measure(whole[first], whole[second])


@pytest.mark.parametrize("tiny", [1.4e-45, 2.8e-45, 1e-40])
def test_the_smallest_numbers_are_next_to_nothing(tiny: float) -> None:
    """Half of 1.4e-45, the smallest float32, is 0 in float32: what is divided by it is no number."""
    first, second = np.array([[1, tiny]], dtype=np.float32), np.array([[1, 0]], dtype=np.float32)
    assert first[0, 1] > 0
    # ½ · ε · log₂ (ε / ½ε), to the next float32; the first column adds nothing.
    assert jensen_shannon(first, second)[0] == pytest.approx(tiny / 2, abs=1.5e-45, rel=1e-4)
    assert jensen_shannon(second, first)[0] == pytest.approx(tiny / 2, abs=1.5e-45, rel=1e-4)


def entropy(row: Floats) -> float:
    return -sum(float(weight) * log2(weight) for weight in row if weight > 0)


@given(st.integers(0, 2**32 - 1))
def test_jensen_shannon_is_the_entropy_that_mixing_adds(seed: int) -> None:
    first, second = rows(seed, 5, 7), rows(seed + 1, 5, 7)
    expected = [
        entropy((one + other) / 2) - (entropy(one) + entropy(other)) / 2
        for one, other in zip(first, second, strict=True)
    ]
    np.testing.assert_allclose(jensen_shannon(first, second), expected, atol=1e-6)


@BOTH
@given(seed=st.integers(0, 2**32 - 1))
def test_a_distance_is_symmetric_nothing_to_itself_and_at_most_1(measure: Measure, seed: int) -> None:
    first, second = rows(seed, 3, 11), rows(seed + 1, 3, 11)
    there = measure(first, second)
    np.testing.assert_allclose(there, measure(second, first), atol=1e-6)
    assert (there > 0).all()
    assert (there <= 1 + 1e-6).all()
    np.testing.assert_array_equal(measure(first, first), 0)


ROWS = (Place(0, 0, same=True), Place(1, None, same=False), Place(2, 1, same=False))
COLUMNS = (Place(0, 0, same=True), Place(None, 1, same=False), Place(1, 2, same=True))


def test_a_word_that_one_text_lacks_counts_as_0_there() -> None:
    second = np.array([[0.25, 0.5, 0.25], [0, 0.25, 0.75]], dtype=np.float32)
    first = np.array([[0.5, 0.5], [1, 0], [0.25, 0.75]], dtype=np.float32)
    assert rows_on(first, ROWS, COLUMNS, "first").tolist() == [[0.5, 0, 0.5], [0.25, 0, 0.75]]
    moved = changes(first[None, None], second[None, None], ROWS, COLUMNS)
    assert moved.tolist() == [[[0.5, 0.25]]]
    # Rescaled, the second's first row is ½, ½ as the first's is; its second row is 0, 1 against ¼, ¾.
    rescaled = changes(first[None, None], second[None, None], ROWS, COLUMNS, rescale=True)
    assert rescaled.tolist() == [[[0, 0.25]]]
    assert largest_difference(first[None, None], second[None, None], ROWS, COLUMNS) == 0.25


@BOTH
def test_every_head_is_measured_by_itself(measure: Measure) -> None:
    first, second = rows(1, 5, 3, 3, 2), rows(2, 5, 3, 2, 3)
    moved = changes(first, second, ROWS, COLUMNS, measure)
    assert moved.shape == (5, 3, 2)
    one, other = rows_on(first[4, 1], ROWS, COLUMNS, "first"), rows_on(second[4, 1], ROWS, COLUMNS, "second")
    np.testing.assert_array_equal(moved[4, 1], measure(one, other))


@BOTH
def test_the_head_itself_is_the_nearest_one(measure: Measure) -> None:
    heads = rows(7, 5, 3, 7, 11)
    distances = from_one_head(heads[3, 2], heads, measure)
    assert distances.shape == (5, 3)
    assert ranked(distances, largest_first=False)[0] == (3, 2)
    np.testing.assert_allclose(distances[1, 0], measure(heads[3, 2], heads[1, 0]).mean(), atol=1e-6)


def test_equal_heads_stay_in_their_order() -> None:
    values = np.array([[0.25, 0.5, 0.5], [0.75, 0.25, 0]], dtype=np.float32)
    assert ranked(values) == ((1, 0), (0, 1), (0, 2), (0, 0), (1, 1), (1, 2))
    assert ranked(values, largest_first=False) == ((1, 2), (0, 0), (1, 1), (0, 1), (0, 2), (1, 0))
