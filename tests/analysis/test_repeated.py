"""Scores of heads in words said twice, on weights made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.repeated import repeated_scores
from attnviz.trace import Block, Floats, Token
from tests.analysis.texts import weighing

TEXT = "a bcd a bcd"
OFFSET = 6
SPANS = ((0, 1), (2, 4), (4, 5), (6, 7), (8, 10), (10, 11))  # "bcd" is two tokens


def block(weights: Floats, spans: tuple[tuple[int, int], ...] = SPANS) -> Block:
    tokens = tuple(
        Token(TEXT[start:end] or "[S]", 0, start, end, None if start == end else 0, special=start == end)
        for start, end in ((0, 0), *spans)
    )
    return replace(weighing("encoder", 0, weights[None]), query_tokens=tokens, key_tokens=tokens)


def test_pieces_of_words_are_found_again_by_their_places() -> None:
    weights = np.zeros((7, 7), np.float32)
    weights[:, 0] = 1.0
    # "a" again (4) attends to the piece after the first "a"; "bc" again (5) at itself.
    weights[4, [0, 2]] = 0.4, 0.6
    weights[5, [0, 2]] = 0.2, 0.8
    found = repeated_scores([block(weights)], OFFSET)
    # Two tokens have one that followed: "a" and "bc"; the last piece was followed by the second time.
    assert found.prefix_matching == pytest.approx(np.array([[0.6 / 2]]))
    assert found.same_token == pytest.approx(np.array([[0.8 / 2]]))
    assert found.even == pytest.approx(1 / 7)


def test_a_token_may_begin_with_the_space_before_it() -> None:
    spaced = ((0, 1), (1, 4), (4, 5), (5, 7), (7, 10), (10, 11))
    weights = np.eye(7, dtype=np.float32)
    weights[4] = np.eye(7, dtype=np.float32)[2]
    assert repeated_scores([block(weights, spaced)], OFFSET).prefix_matching == pytest.approx(
        np.array([[0.5]])
    )


def test_what_is_said_once_has_no_score() -> None:
    with pytest.raises(ValueError, match="said again"):
        repeated_scores([block(np.eye(7, dtype=np.float32))], 60)
