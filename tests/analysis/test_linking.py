import numpy as np
import pytest

from attnviz.analysis.linking import Link, rank_changes, rank_links
from attnviz.errors import AttnvizError
from attnviz.trace import Trace


def test_strongest_first_and_equal_heads_in_their_order() -> None:
    weights = np.zeros((2, 3, 5, 7), dtype=np.float32)
    weights[:, :, 4, 6] = [[0.25, 0.5, 0.25], [0.75, 0.25, 0.5]]
    assert rank_links(weights, 4, 6) == (
        Link(1, 0, 0.75),
        Link(0, 1, 0.5),
        Link(1, 2, 0.5),
        Link(0, 0, 0.25),
        Link(0, 2, 0.25),
        Link(1, 1, 0.25),
    )


def test_many_equal_heads_keep_their_order() -> None:
    weights = np.tile(np.array([0.25, 0.5], dtype=np.float32), (23, 29))[..., None, None]
    order = [link[:2] for link in rank_links(weights, 0, 0)]
    assert order == sorted(order, key=lambda at: (1 - at[1] % 2, at))


def test_largest_move_first_whichever_its_sign() -> None:
    before, after = np.zeros((2, 1, 2, 3, 5), dtype=np.float32)
    before[0, :, 2, 4], after[0, :, 2, 4] = [0.5, 0.25], [0.625, 0.0]
    assert rank_changes(before, after, 2, 4) == ((0, 1, 0.25, 0.0, -0.25), (0, 0, 0.5, 0.625, 0.125))


def test_sentences_of_different_length_are_refused() -> None:
    with pytest.raises(AttnvizError, match="5 tokens and the second 7"):
        rank_changes(np.zeros((1, 2, 5, 5), np.float32), np.zeros((1, 2, 7, 7), np.float32), 0, 0)


def test_one_head_follows_the_pronoun(tired: Trace, narrow: Trace) -> None:
    """In the bundled BERT, layer 4 head 2 (from 1) of all heads moves "it" most: from dog to road."""
    it, dog, road = 9, 2, 7
    before, after = tired.stack("encoder"), narrow.stack("encoder")
    for key, sign in ((dog, -1), (road, 1)):
        moved = rank_changes(before, after, it, key)[0]
        assert (moved.layer, moved.head, np.sign(moved.change)) == (3, 1, sign)
    assert before[3, 1, it, dog] > before[3, 1, it, road]
    assert after[3, 1, it, dog] < after[3, 1, it, road]
    assert [link[:2] for link in rank_links(before, it, dog)[:2]] == [(5, 11), (3, 1)]
