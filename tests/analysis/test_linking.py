import numpy as np

from attnviz.analysis.linking import Link, Strongest, rank_changes, rank_links, strongest
from attnviz.trace import Trace
from tests.analysis.texts import weighing


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


def test_largest_move_first_whichever_its_sign() -> None:
    before, after = np.zeros((2, 1, 2, 3, 5), dtype=np.float32)
    before[0, :, 2, 4], after[0, :, 2, 4] = [0.5, 0.25], [0.625, 0.0]
    assert rank_changes(before, after, 2, 4) == ((0, 1, 0.25, 0.0, -0.25), (0, 0, 0.5, 0.625, 0.125))


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


FIRST = np.array(
    [
        [[0.0, 0.9, 0.1], [0.5, 0.3, 0.2], [0.8, 0.0, 0.2]],
        [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.4, 0.6]],
    ],
    dtype=np.float32,
)
SECOND = np.array(
    [
        [[0.0, 0.7, 0.3], [0.0, 0.3, 0.7], [0.2, 0.2, 0.6]],
        [[0.5, 0.0, 0.5], [0.0, 0.4, 0.6], [0.9, 0.1, 0.0]],
    ],
    dtype=np.float32,
)


def told(links: tuple[Strongest, ...]) -> list[tuple[float, ...]]:
    return [(*link[:4], round(link.weight, 6)) for link in links]


def test_each_pair_is_told_once_in_its_strongest_head() -> None:
    links = strongest([weighing("encoder", 0, FIRST), weighing("encoder", 3, SECOND)], maximum=4)
    assert told(links) == [
        (0, 1, 0, 0, 0.9),
        (2, 0, 3, 1, 0.9),
        (1, 2, 3, 0, 0.7),
        (0, 2, 3, 1, 0.5),
    ]


def test_special_tokens_are_left_out() -> None:
    links = strongest([weighing("encoder", 0, FIRST, special=(0,))], maximum=9)
    assert told(links) == [(1, 2, 0, 1, 0.5), (2, 1, 0, 1, 0.4)]


def test_a_decoders_first_token_is_left_out() -> None:
    links = strongest([weighing("decoder", 1, FIRST)], maximum=1)
    assert told(links) == [(0, 1, 1, 0, 0.9)]
    assert all(link.key for link in strongest([weighing("decoder", 1, FIRST)], maximum=9))


def test_in_cross_attention_equal_places_are_different_tokens() -> None:
    links = strongest([weighing("cross", 0, FIRST[:, :2])], maximum=1)
    assert told(links) == [(0, 0, 0, 1, 1.0)]
