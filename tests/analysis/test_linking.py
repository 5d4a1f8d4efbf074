import numpy as np

from attnviz.analysis.linking import Link, StrongestLink, rank_changes, rank_links, strongest_links
from attnviz.trace import Trace
from tests.analysis.texts import block_with_weights


def test_links_are_sorted_and_equal_heads_keep_their_order() -> None:
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


def test_changes_are_sorted_by_absolute_value() -> None:
    before, after = np.zeros((2, 1, 2, 3, 5), dtype=np.float32)
    before[0, :, 2, 4], after[0, :, 2, 4] = [0.5, 0.25], [0.625, 0.0]
    assert rank_changes(before, after, 2, 4) == ((0, 1, 0.25, 0.0, -0.25), (0, 0, 0.5, 0.625, 0.125))


def test_one_head_resolves_the_pronoun(tired: Trace, narrow: Trace) -> None:
    """In the bundled BERT, head 4-2 changes most: the weight of "it" moves from "dog" to "road"."""
    it, dog, road = 9, 2, 7
    before, after = tired.stack("encoder"), narrow.stack("encoder")
    for key, sign in ((dog, -1), (road, 1)):
        largest = rank_changes(before, after, it, key)[0]
        assert (largest.layer, largest.head, np.sign(largest.change)) == (3, 1, sign)
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


def rounded(links: tuple[StrongestLink, ...]) -> list[tuple[float, ...]]:
    return [(*link[:4], round(link.weight, 6)) for link in links]


def test_each_pair_is_listed_once_with_its_strongest_head() -> None:
    links = strongest_links(
        [block_with_weights("encoder", 0, FIRST), block_with_weights("encoder", 3, SECOND)], maximum=4
    )
    assert rounded(links) == [(0, 1, 0, 0, 0.9), (2, 0, 3, 1, 0.9), (1, 2, 3, 0, 0.7), (0, 2, 3, 1, 0.5)]


def test_special_tokens_are_excluded() -> None:
    links = strongest_links([block_with_weights("encoder", 0, FIRST, special=(0,))], maximum=9)
    assert rounded(links) == [(1, 2, 0, 1, 0.5), (2, 1, 0, 1, 0.4)]


def test_first_token_of_a_decoder_is_excluded() -> None:
    links = strongest_links([block_with_weights("decoder", 1, FIRST)], maximum=1)
    assert rounded(links) == [(0, 1, 1, 0, 0.9)]
    assert all(link.key for link in strongest_links([block_with_weights("decoder", 1, FIRST)], maximum=9))


def test_cross_attention_includes_equal_positions() -> None:
    links = strongest_links([block_with_weights("cross", 0, FIRST[:, :2])], maximum=1)
    assert rounded(links) == [(0, 0, 0, 1, 1.0)]
