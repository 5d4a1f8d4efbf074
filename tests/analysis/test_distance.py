from itertools import combinations

import numpy as np

from attnviz.analysis.distance import ranked, total_variation


def test_total_variation_by_hand() -> None:
    first = np.array([[0.5, 0.5, 0], [1, 0, 0]], dtype=np.float32)
    second = np.array([[0.25, 0.25, 0.5], [0, 1, 0]], dtype=np.float32)
    assert total_variation(first, second).tolist() == [0.5, 1]


def test_what_a_row_lacks_went_to_a_sink_which_is_one_key_more() -> None:
    whole = np.array([[0.5, 0.25, 0.25], [0, 0.25, 0.75], [1, 0, 0]], dtype=np.float32)
    for first, second in combinations(range(3), 2):
        cut = total_variation(whole[first, :2], whole[second, :2])
        assert cut == total_variation(whole[first], whole[second])


def test_equal_heads_stay_in_their_order() -> None:
    values = np.array([[0.25, 0.5, 0.5], [0.75, 0.25, 0]], dtype=np.float32)
    assert ranked(values) == ((1, 0), (0, 1), (0, 2), (0, 0), (1, 1), (1, 2))
