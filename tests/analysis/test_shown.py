from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.shown import (
    Shown,
    hidden_share,
    left_share,
    merged_weights,
    shown_mask,
    shown_scores,
    shown_weights,
    visible_text,
)
from attnviz.errors import AttnvizError
from attnviz.trace import Block, Floats, Token, Trace

Text = tuple[str, tuple[Token, ...]]


def sentence(words: list[int]) -> Text:
    """[CLS], words of the given numbers of pieces, [SEP]; every piece is one letter."""
    tokens = [Token("[CLS]", 101, 0, 0, None, True)]
    for word, pieces in enumerate(words):
        for piece in range(pieces):
            start = len(tokens) - 1
            tokens.append(Token("##x" if piece else "x", 1, start, start + 1, word, False))
    return "x" * sum(words), (*tokens, Token("[SEP]", 102, 0, 0, None, True))


def random_weights(size: int, seed: int) -> Floats:
    exponentials = np.exp(2 * np.random.default_rng(seed).standard_normal((2, 3, size, size)))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True), dtype=np.float32)


def test_as_the_tokenizer_spells_them(word_pieces: Text) -> None:
    text, tokens = word_pieces
    shown = Shown(tokens, text)
    assert shown.labels == ("[CLS]", "un", "##break", "##able", "dog", "[UNK] 🦄", "[SEP]")
    assert [group.number for group in shown.groups] == [1, 2, 3, 4, 5, 6, 7]
    assert [group.special for group in shown.groups] == [True, False, False, False, False, False, True]
    assert shown.titles == (
        "token 1: [CLS], added by the tokenizer",
        'token 2: "Un", characters 1–2',
        'token 3: "break", characters 3–7',
        'token 4: "able", characters 8–11',
        'token 5: "dog", characters 13–15',
        'token 6: "🦄", character 17, read as [UNK]',
        "token 7: [SEP], added by the tokenizer",
    )
    assert shown.explanation == shown.explanation_of_scores == "nothing hidden, merged or rescaled"


def test_merged_and_hidden(word_pieces: Text) -> None:
    text, tokens = word_pieces
    shown = Shown(tokens, text, hide_special=True, merge_words=True)
    assert shown.labels == ("unbreakable", "dog", "[UNK] 🦄")
    assert [group.number for group in shown.groups] == [2, 5, 6]
    assert shown.groups[0].positions == (1, 2, 3)
    assert shown.titles[0] == 'tokens 2–4: "Unbreakable", characters 1–11'
    assert [shown.index_of(position) for position in range(8)] == [None, 0, 0, 0, 1, 2, None, None]
    assert shown.explanation == (
        "word pieces merged (to a word: the pieces' sum, from a word: their mean); "
        "without [CLS] and [SEP]; each row rescaled to sum to 100 %"
    )


def test_hiding_alone_says_that_it_rescales_weights_but_not_scores(word_pieces: Text) -> None:
    shown = Shown(word_pieces[1], word_pieces[0], hide_special=True)
    assert shown.explanation == "without [CLS] and [SEP]; each row rescaled to sum to 100 %"
    assert shown.explanation_of_scores == "without [CLS] and [SEP]"


def test_sum_to_a_word_and_mean_from_a_word_by_hand(word_pieces: Text) -> None:
    text, tokens = word_pieces
    weights = np.arange(49, dtype=np.float32).reshape(7, 7)
    merged = merged_weights(weights, Shown(tokens, text, merge_words=True))
    # Row "dog" (28…34), to the word: 29 + 30 + 31. From the word to "dog": (11 + 18 + 25) / 3.
    assert merged[2].tolist() == [28, 90, 32, 33, 34]
    assert merged[:, 2].tolist() == [4, 18, 32, 39, 46]
    # From the word to itself: mean of 8+9+10, 15+16+17, 22+23+24.
    assert merged[1, 1] == 48


def test_hiding_rescales_by_hand(word_pieces: Text) -> None:
    text, tokens = word_pieces
    weights = np.tile(np.array([0.5, 0.05, 0.05, 0.1, 0.2, 0.0, 0.1], dtype=np.float32), (7, 1))
    shown = Shown(tokens, text, hide_special=True, merge_words=True)
    np.testing.assert_allclose(shown_weights(weights, shown), np.tile([0.5, 0.5, 0], (3, 1)), rtol=1e-6)
    np.testing.assert_allclose(hidden_share(weights, shown), [0.6, 0.6, 0.6], rtol=1e-6)
    np.testing.assert_allclose(left_share(weights, shown), [0.4, 0.4, 0.4], rtol=1e-6)


def test_a_row_of_which_nothing_is_left_stays_zero(word_pieces: Text) -> None:
    text, tokens = word_pieces
    weights = np.zeros((7, 7), dtype=np.float32)
    weights[:, 0] = 1
    shown = Shown(tokens, text, hide_special=True)
    assert np.array_equal(shown_weights(weights, shown), np.zeros((5, 5)))
    assert hidden_share(weights, shown).tolist() == [1] * 5


def test_a_tiny_rest_is_still_rescaled(word_pieces: Text) -> None:
    text, tokens = word_pieces
    weights = np.zeros((7, 7), dtype=np.float32)
    weights[:, 0], weights[:, 4] = 1, 1e-42
    assert shown_weights(weights, Shown(tokens, text, hide_special=True))[:, 3].tolist() == [1] * 5


@given(
    words=st.lists(st.integers(1, 4), min_size=1, max_size=7),
    hide=st.booleans(),
    merge=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_rows_sum_to_one_and_shares_add_up(words: list[int], hide: bool, merge: bool, seed: int) -> None:
    text, tokens = sentence(words)
    weights = random_weights(len(tokens), seed)
    shown = Shown(tokens, text, hide_special=hide, merge_words=merge)
    made = shown_weights(weights, shown)
    assert made.shape == (2, 3, len(shown), len(shown))
    assert made.dtype == np.float32
    np.testing.assert_allclose(made.sum(axis=-1), 1, atol=1e-5)
    np.testing.assert_allclose(left_share(weights, shown) + hidden_share(weights, shown), 1, atol=1e-5)
    # An independent way: matrices that sum columns and average rows.
    member = np.array(
        [[position in group.positions for group in shown.groups] for position in range(len(tokens))]
    )
    expected = (member / member.sum(axis=0)).T @ weights.astype(np.float64) @ member
    expected /= expected.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(made, expected, atol=1e-6)


def test_two_different_texts(word_pieces: Text) -> None:
    text, tokens = word_pieces
    source = Shown(tokens, text, hide_special=True, merge_words=True)
    target_text, target_tokens = sentence([1, 2])
    target = Shown(target_tokens, target_text, merge_words=True)
    weights = np.full((5, 7), 1 / 7, dtype=np.float32)
    made = shown_weights(weights, target, source)
    np.testing.assert_allclose(made, np.tile([0.6, 0.2, 0.2], (4, 1)), rtol=1e-6)


def test_nothing_to_hide_leaves_the_models_numbers_to_the_bit(tired: Trace) -> None:
    weights = tired.stack("encoder")
    tokens = tired.blocks[0].query_tokens
    assert np.array_equal(shown_weights(weights, Shown(tokens, tired.text)), weights)
    plain = tuple(token for token in tokens if not token.special)
    part = weights[..., 1:-1, 1:-1]
    shown = Shown(plain, tired.text, hide_special=True)
    assert np.array_equal(shown_weights(part, shown), part)
    assert shown.explanation == "nothing hidden, merged or rescaled"
    assert left_share(part, shown).tolist() == np.ones(part.shape[:-1]).tolist()


def test_scores_are_left_out_but_never_merged(word_pieces: Text, make_block: Callable[..., Block]) -> None:
    text, tokens = word_pieces
    scores = make_block(tokens).scores
    assert np.array_equal(shown_scores(scores, Shown(tokens, text, hide_special=True)), scores[:, 1:-1, 1:-1])
    with pytest.raises(AttnvizError, match="Only weights can be merged"):
        shown_scores(scores, Shown(tokens, text, merge_words=True))
    assert shown_scores(scores[:, 4:, 4:], Shown(tokens[4:], text, merge_words=True)).shape == (3, 3, 3)


def test_a_word_may_look_where_one_of_its_pieces_may(word_pieces: Text) -> None:
    text, tokens = word_pieces
    shown = Shown(tokens, text, merge_words=True)
    assert np.array_equal(shown_mask(np.tri(7, dtype=bool), shown), np.tri(5, dtype=bool))
    only_the_last_piece = np.eye(7, dtype=bool)
    only_the_last_piece[3, 4] = True
    assert shown_mask(only_the_last_piece, shown)[1].tolist() == [False, True, True, False, False]
    hidden = Shown(tokens, text, hide_special=True)
    assert np.array_equal(shown_mask(np.tri(7, dtype=bool), hidden), np.tri(5, dtype=bool))


def test_other_tokenizers_marks_vanish_from_merged_words() -> None:
    tokens = (Token("▁Don", 1, 0, 3, 0, False), Token("au", 2, 3, 5, 0, False), Token("Ġ", 3, 5, 6, 1, False))
    shown = Shown(tokens, "Donau ", merge_words=True)
    assert shown.labels == ("Donau", "Ġ")
    assert shown.titles[0] == 'tokens 1–2: "Donau", characters 1–5'


def test_only_special_tokens_cannot_be_hidden() -> None:
    text, tokens = sentence([])
    assert len(Shown(tokens, text)) == 2
    with pytest.raises(AttnvizError, match="special"):
        Shown(tokens, text, hide_special=True)


def test_arrays_of_another_text_are_refused(word_pieces: Text) -> None:
    shown = Shown(word_pieces[1], word_pieces[0])
    with pytest.raises(AttnvizError, match="tokens"):
        shown_weights(np.ones((5, 7), dtype=np.float32), shown)


def test_control_characters_are_drawn_not_obeyed() -> None:
    assert visible_text("a\0b\nc\r\x7f\x85\u2028d <script> ﷽ é") == "a␀b␊c␍␡��d <script> ﷽ é"
    tokens = (Token("ab", 5, 0, 3, 0, False),)
    assert Shown(tokens, "a\0b").titles == ('token 1: "a␀b", characters 1–3, read as ab',)
