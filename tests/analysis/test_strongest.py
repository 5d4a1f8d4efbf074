import numpy as np

from attnviz.analysis.strongest import Strongest, strongest
from attnviz.trace import Block, Floats, Kind, Token


def block(kind: Kind, layer: int, weights: Floats, special: tuple[int, ...] = ()) -> Block:
    """A block with these weights, whatever its queries and keys are."""
    heads, queries, keys = weights.shape

    def tokens(count: int) -> tuple[Token, ...]:
        return tuple(Token(f"t{n}", n, n, n + 1, n, n in special) for n in range(count))

    return Block(
        kind=kind,
        layer=layer,
        query_tokens=tokens(queries),
        key_tokens=tokens(keys),
        query=np.zeros((heads, queries, 1), np.float32),
        key=np.zeros((heads, keys, 1), np.float32),
        value=np.zeros((heads, keys, 1), np.float32),
        weights=weights,
        mask=np.ones((queries, keys), np.bool_),
        scale=1.0,
    )


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
    links = strongest([block("encoder", 0, FIRST), block("encoder", 3, SECOND)], most=4)
    assert told(links) == [
        (0, 1, 0, 0, 0.9),
        (2, 0, 3, 1, 0.9),
        (1, 2, 3, 0, 0.7),
        (0, 2, 3, 1, 0.5),
    ]


def test_special_tokens_are_left_out() -> None:
    links = strongest([block("encoder", 0, FIRST, special=(0,))], most=9)
    assert told(links) == [(1, 2, 0, 1, 0.5), (2, 1, 0, 1, 0.4)]


def test_a_decoders_first_token_is_left_out() -> None:
    links = strongest([block("decoder", 1, FIRST)], most=1)
    assert told(links) == [(0, 1, 1, 0, 0.9)]
    assert all(link.key for link in strongest([block("decoder", 1, FIRST)], most=9))


def test_in_cross_attention_equal_places_are_different_tokens() -> None:
    links = strongest([block("cross", 0, FIRST[:, :2])], most=1)
    assert told(links) == [(0, 0, 0, 1, 1.0)]


def test_nothing_is_told_of_a_single_token() -> None:
    assert strongest([block("encoder", 0, np.ones((2, 1, 1), np.float32))], most=3) == ()
