"""Words, their tokens and the weights between them."""

import numpy as np

from attnviz.analysis.words import Span, positions, punctuation, same_word, weight_between
from attnviz.trace import Token
from tests.analysis.texts import CLS, SEP

TEXT = "The dog, the “dogs” + THE dog’s."
PIECES = "The dog , the “ dog ##s ” + THE dog ’ s ."


def tokens_of_text() -> tuple[Token, ...]:
    """Return [CLS], the pieces of `TEXT`, and [SEP]."""
    place, word = 0, -1
    found = [CLS]
    for piece in PIECES.split():
        word += not piece.startswith("##")
        start = TEXT.index(piece.removeprefix("##"), place)
        place = start + len(piece.removeprefix("##"))
        found.append(Token(piece, 7, start, place, word, False))
    return (*found, SEP)


def test_tokens_without_letters_are_punctuation() -> None:
    tokens = tokens_of_text()
    marks = punctuation(tokens, [TEXT])
    assert [token.text for token, mark in zip(tokens, marks, strict=True) if mark] == list(",“”+’.")


def test_same_word_matches_other_positions_only() -> None:
    tokens = tokens_of_text()
    same = same_word(tokens, [TEXT])
    assert np.array_equal(same, same.T)
    pairs = {(int(i), int(j)) for i, j in np.argwhere(same) if i < j}
    # The, the and THE match; so do dog and the dog of dog’s, but not dogs. Punctuation is not a word.
    assert pairs == {(1, 4), (1, 10), (4, 10), (2, 11)}


def test_spans_of_the_second_sentence_refer_to_its_text() -> None:
    tokens = (
        Token("a", 1, 0, 1, 0, False),
        Token("!", 2, 0, 1, 1, False, 1),
        Token("a", 1, 2, 3, 2, False, 1),
    )
    assert same_word(tokens, ["a", "! a"]).tolist() == [
        [False, False, True],
        [False] * 3,
        [True, False, False],
    ]
    assert punctuation(tokens, ["a", "! a"]).tolist() == [False, True, False]


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


def test_positions_of_a_word_are_all_its_pieces() -> None:
    assert positions(TOKENS, Span(3, 12)) == (2, 3, 4)
    assert positions(TOKENS, Span(19, 21)) == (6,)
    assert positions(TOKENS, Span(12, 13)) == ()


def test_weight_is_summed_over_key_pieces_and_averaged_over_query_pieces() -> None:
    weights = np.arange(1, 28, dtype=np.float32).reshape(3, 3, 3)
    assert weight_between(weights, [0], [1, 2]).tolist() == [2 + 3, 11 + 12, 20 + 21]
    assert weight_between(weights, [1, 2], [0]).tolist() == [(4 + 7) / 2, (13 + 16) / 2, (22 + 25) / 2]
