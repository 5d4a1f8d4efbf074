from itertools import combinations

import numpy as np

from attnviz.analysis.distance import ranked, total_variation


def test_total_variation() -> None:
    first = np.array([[0.5, 0.5, 0], [1, 0, 0]], dtype=np.float32)
    second = np.array([[0.25, 0.25, 0.5], [0, 1, 0]], dtype=np.float32)
    assert total_variation(first, second).tolist() == [0.5, 1]


def test_missing_weight_counts_as_a_sink() -> None:
    complete = np.array([[0.5, 0.25, 0.25], [0, 0.25, 0.75], [1, 0, 0]], dtype=np.float32)
    for first, second in combinations(range(3), 2):
        without_sink = total_variation(complete[first, :2], complete[second, :2])
        assert without_sink == total_variation(complete[first], complete[second])


def test_equal_heads_keep_their_order() -> None:
    values = np.array([[0.25, 0.5, 0.5], [0.75, 0.25, 0]], dtype=np.float32)
    assert ranked(values) == ((1, 0), (0, 1), (0, 2), (0, 0), (1, 1), (1, 2))
