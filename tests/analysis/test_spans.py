"""Words by their characters: which tokens they are, and the weight between two of them."""

import numpy as np

from attnviz.analysis.shown import Shown, merged_weights
from attnviz.analysis.spans import Span, positions, weight_between
from attnviz.trace import Token

TEXT = "An embedding reads it."
TOKENS = (
    Token("[CLS]", 101, 0, 0, None, special=True),
    Token("an", 1, 0, 2, 0, special=False),
    Token("em", 2, 3, 5, 1, special=False),
    Token("##bed", 3, 5, 8, 1, special=False),
    Token("##ding", 4, 8, 12, 1, special=False),
    Token("reads", 5, 13, 18, 2, special=False),
    Token("it", 6, 19, 21, 3, special=False),
    Token(".", 7, 21, 22, 4, special=False),
    Token("[SEP]", 102, 0, 0, None, special=True),
)


def test_a_word_is_all_of_its_pieces_and_no_other() -> None:
    assert positions(TOKENS, Span(3, 12)) == (2, 3, 4)
    assert positions(TOKENS, Span(19, 21)) == (6,)
    assert positions(TOKENS, Span(12, 13)) == ()


def test_the_second_sentence_of_a_pair_is_another_text() -> None:
    second = Token("it", 6, 19, 21, 9, special=False, sentence=1)
    assert positions((*TOKENS, second), Span(19, 21)) == (6,)


def test_the_weight_is_a_sum_to_pieces_and_a_mean_from_pieces() -> None:
    weights = np.arange(1, 28, dtype=np.float32).reshape(3, 3, 3)
    assert weight_between(weights, [0], [1, 2]).tolist() == [2 + 3, 11 + 12, 20 + 21]
    assert weight_between(weights, [1, 2], [0]).tolist() == [(4 + 7) / 2, (13 + 16) / 2, (22 + 25) / 2]


def test_it_is_what_a_picture_with_merged_pieces_shows() -> None:
    weights = np.random.default_rng(5).dirichlet(np.ones(9), size=(2, 3, 9)).astype(np.float32)
    shown = Shown(TOKENS, TEXT, merge_words=True)
    merged = merged_weights(weights, shown)
    word, it = shown.labels.index("embedding"), shown.labels.index("it")
    np.testing.assert_allclose(weight_between(weights, (6,), (2, 3, 4)), merged[..., it, word], rtol=1e-6)
    np.testing.assert_allclose(weight_between(weights, (2, 3, 4), (6,)), merged[..., word, it], rtol=1e-6)
