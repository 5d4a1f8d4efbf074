from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from attnviz.analysis.display_tokens import (
    DisplayTokens,
    faint,
    shown_mask,
    shown_scores,
    shown_share,
    shown_weights,
    visible_text,
)
from attnviz.errors import AttnvizError
from attnviz.trace import Floats, Token, Trace
from tests.analysis.texts import PIECES, UNBREAKABLE, make_block, pieces

Text = tuple[str, tuple[Token, ...]]


def sentence(words: list[int]) -> Text:
    """Return a text and its tokens: [CLS], words with these numbers of one-letter pieces, and [SEP]."""
    tokens = [Token("[CLS]", 101, 0, 0, None, True)]
    for word, count in enumerate(words):
        for piece in range(count):
            start = len(tokens) - 1
            tokens.append(Token("##x" if piece else "x", 1, start, start + 1, word, False))
    return "x" * sum(words), (*tokens, Token("[SEP]", 102, 0, 0, None, True))


def titles(shown: DisplayTokens) -> tuple[str, ...]:
    return tuple(group.title for group in shown.groups)


def random_weights(size: int, seed: int) -> Floats:
    exponentials = np.exp(2 * np.random.default_rng(seed).standard_normal((2, 3, size, size)))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True), dtype=np.float32)


def test_labels_and_titles_of_plain_tokens() -> None:
    shown = pieces()
    assert shown.labels == ("[CLS]", "un", "##break", "##able", "dog", "[UNK] 🦄", "[SEP]")
    assert [group.number for group in shown.groups] == [1, 2, 3, 4, 5, 6, 7]
    assert [group.special for group in shown.groups] == [True, False, False, False, False, False, True]
    assert titles(shown) == (
        "token 1: [CLS], added by the tokenizer",
        'token 2: "Un", characters 1–2',
        'token 3: "break", characters 3–7',
        'token 4: "able", characters 8–11',
        'token 5: "dog", characters 13–15',
        'token 6: "🦄", character 17, read as [UNK]',
        "token 7: [SEP], added by the tokenizer",
    )
    assert shown.explanation == shown.explanation_of_scores == "nothing hidden, merged or rescaled"


def test_labels_and_titles_of_merged_words_without_special_tokens() -> None:
    shown = pieces(hide_special=True, merge_words=True)
    assert shown.labels == ("unbreakable", "dog", "[UNK] 🦄")
    assert [group.number for group in shown.groups] == [2, 5, 6]
    assert shown.groups[0].positions == (1, 2, 3)
    assert titles(shown)[0] == 'tokens 2–4: "Unbreakable", characters 1–11'
    assert [shown.index_of(position) for position in range(8)] == [None, 0, 0, 0, 1, 2, None, None]
    assert shown.explanation == (
        "word pieces merged (sum of the weights to a word, mean of those from a word); "
        "without [CLS] and [SEP]; each row rescaled to sum to 100 %"
    )


def test_row_without_remaining_weight_stays_zero() -> None:
    weights = np.zeros((7, 7), dtype=np.float32)
    weights[:, 0] = 1
    shown = pieces(hide_special=True)
    assert np.array_equal(shown_weights(weights, shown), np.zeros((5, 5)))
    assert shown_share(weights, shown).tolist() == [0] * 5


def test_rows_that_attend_to_hidden_tokens_are_drawn_with_their_original_strength() -> None:
    weights = np.zeros((7, 7), dtype=np.float32)
    weights[:, 0], weights[:, 1], weights[:, 4] = 0.5, 0.125, 0.375
    weights[3] = [0.98, 0.0196, 0.0004, 0, 0, 0, 0]
    shown = pieces(hide_special=True)
    rescaled, left = shown_weights(weights, shown), shown_share(weights, shown)
    np.testing.assert_allclose(rescaled[2], [0.98, 0.02, 0, 0, 0], rtol=1e-4)
    drawn = faint(rescaled, left)
    np.testing.assert_allclose(drawn[2], weights[3, 1:6], rtol=1e-4)
    assert np.array_equal(np.delete(drawn, 2, axis=0), np.delete(rescaled, 2, axis=0))


def test_without_hidden_tokens_weights_are_bit_identical(tired: Trace) -> None:
    weights = tired.stack("encoder")
    tokens = tired.blocks[0].query_tokens
    assert np.array_equal(shown_weights(weights, DisplayTokens(tokens, tired.text)), weights)
    plain = tuple(token for token in tokens if not token.special)
    part = weights[..., 1:-1, 1:-1]
    shown = DisplayTokens(plain, tired.text, hide_special=True)
    assert np.array_equal(shown_weights(part, shown), part)
    assert shown.explanation == "nothing hidden, merged or rescaled"
    assert shown_share(part, shown).tolist() == np.ones(part.shape[:-1]).tolist()


def test_scores_can_be_hidden_but_not_merged() -> None:
    scores = make_block(PIECES).scores
    assert np.array_equal(shown_scores(scores, pieces(hide_special=True)), scores[:, 1:-1, 1:-1])
    with pytest.raises(AttnvizError, match="Only weights can be merged"):
        shown_scores(scores, pieces(merge_words=True))
    assert shown_scores(
        scores[:, 4:, 4:], DisplayTokens(PIECES[4:], UNBREAKABLE, merge_words=True)
    ).shape == (3, 3, 3)


def test_merged_cell_is_allowed_if_any_of_its_cells_is() -> None:
    shown = pieces(merge_words=True)
    assert np.array_equal(shown_mask(np.tri(7, dtype=bool), shown), np.tri(5, dtype=bool))
    mask = np.eye(7, dtype=bool)
    mask[3, 4] = True
    assert shown_mask(mask, shown)[1].tolist() == [False, True, True, False, False]
    hidden = pieces(hide_special=True)
    assert np.array_equal(shown_mask(np.tri(7, dtype=bool), hidden), np.tri(5, dtype=bool))


def bytes_of(character: str, start: int, word: int) -> list[Token]:
    """Return the tokens of a character that GPT-2 splits into bytes."""
    pieces, _ = zip(
        *pre_tokenizers.ByteLevel(False, use_regex=False).pre_tokenize_str(character), strict=True
    )
    return [Token(piece, 7, start, start + 1, word, False) for piece in "".join(pieces)]


GPT_2 = (
    "The tiredest café 😀é\n",
    (
        Token("The", 1, 0, 3, 0, False),
        Token("Ġtired", 2, 4, 9, 1, False),
        Token("est", 3, 9, 12, 1, False),
        Token("ĠcafÃ©", 4, 13, 17, 2, False),
        Token("Ġ", 5, 17, 18, 3, False),
        *bytes_of("😀", 18, 4),
        *bytes_of("é", 19, 4),
        Token("Ċ", 6, 20, 21, 5, False),
        Token("<|endoftext|>", 0, 0, 0, None, True),
    ),
)


def test_byte_level_tokens_are_labelled_with_the_typed_text() -> None:
    text, tokens = GPT_2
    shown = DisplayTokens(tokens, text, written=2)
    assert shown.labels == (
        *("The", "tired", "##est", "café", "␣"),
        *("😀 1/4", "😀 2/4", "😀 3/4", "😀 4/4", "é 1/2", "é 2/2", "⏎", "<|endoftext|>"),
    )
    assert titles(shown)[3] == 'token 4: "café", characters 14–17, spelled ĠcafÃ©'
    assert titles(shown)[11] == 'token 12: "␊", character 21, spelled Ċ, generated by the model'


def test_byte_level_words_are_labelled_with_the_typed_text() -> None:
    text, tokens = GPT_2
    shown = DisplayTokens(tokens, text, hide_special=True, merge_words=True)
    assert shown.labels == ("The", "tiredest", "café", "␣", "😀é", "⏎")
    assert titles(shown)[4] == 'tokens 6–11: "😀é", characters 19–20'


@pytest.mark.parametrize(
    ("token", "text", "label", "title"),
    [
        # SentencePiece: the marker of the initial space, a normalized character, and bytes.
        (Token("▁", 1, 0, 0, 0, False), "dog", "▁", "token 1: ▁"),
        (Token("▁fi", 1, 0, 1, 0, False), "ﬁ", "fi", 'token 1: "ﬁ", character 1, spelled ▁fi'),
        (Token("<0x0A>", 1, 0, 1, 0, False), "\n", "⏎", 'token 1: "␊", character 1, spelled <0x0A>'),
        (
            Token("<0xE2>", 1, 0, 1, 0, False),
            "\ufffd",
            "<0xE2>",
            'token 1: "\ufffd", character 1, read as <0xE2>',
        ),
        (Token("<unk>", 1, 0, 1, 0, False), "🦄", "<unk> 🦄", 'token 1: "🦄", character 1, read as <unk>'),
        (
            Token("ðŁ", 1, 0, 1, 0, False),
            "\ufffd",
            "<0xF0><0x9F>",
            'token 1: "\ufffd", character 1, spelled ðŁ',
        ),
        # White space, separate accents, and letters that only look like GPT-2's bytes.
        (Token("ĉ", 1, 0, 1, 0, False), "\t", "⇥", 'token 1: "␉", character 1, spelled ĉ'),
        (Token("Ìģ", 1, 0, 1, 0, False), "\u0301", "◌\u0301", 'token 1: "\u0301", character 1, spelled Ìģ'),
        (Token("Ã©", 1, 0, 2, 0, False), "Ã©", "Ã©", 'token 1: "Ã©", characters 1–2'),
    ],
)
def test_labels_and_titles_of_other_tokenizers(token: Token, text: str, label: str, title: str) -> None:
    shown = DisplayTokens((token,), text)
    assert shown.labels == (label,)
    assert titles(shown) == (title,)


def test_generated_bytes_that_are_not_a_character() -> None:
    tokens = (Token("a", 1, 0, 1, 0, False), Token("ð", 2, 1, 2, 0, False), Token("ĠÃ", 3, 2, 3, 0, False))
    assert DisplayTokens(tokens, "a\ufffd\ufffd").labels == ("a", "<0xF0>", "<0x20><0xC3>")
    assert DisplayTokens(tokens, "a\ufffd\ufffd", merge_words=True).labels == ("a\ufffd\ufffd",)


# Sentence pairs


def pair(first: list[int], second: list[int]) -> tuple[str, str, tuple[Token, ...]]:
    """Return [CLS] first [SEP] second [SEP], with these numbers of pieces in each word."""
    (text, one), (other_text, other) = sentence(first), sentence(second)
    words = len(first)
    second_tokens = [
        replace(t, sentence=1, word=None if t.word is None else t.word + words) for t in other[1:]
    ]
    return text, other_text, (*one, *second_tokens)


@pytest.mark.parametrize(
    ("only", "hide", "numbers", "explanation"),
    [
        (None, False, (1, 2, 3, 4, 5, 6), "nothing hidden, merged or rescaled"),
        (0, False, (1, 2, 3), "only the first sentence with its [CLS] and [SEP]"),
        (1, False, (4, 5, 6), "only the second sentence with its [SEP]"),
        (0, True, (2,), "only the first sentence; without [CLS] and [SEP]"),
        (1, True, (4, 5), "only the second sentence; without [SEP]"),
        (None, True, (2, 4, 5), "without [CLS] and [SEP]"),
    ],
)
def test_one_sentence_of_a_pair(
    only: int | None, hide: bool, numbers: tuple[int, ...], explanation: str
) -> None:
    text, second, tokens = pair([1], [2])
    shown = DisplayTokens(tokens, text, second=second, only_sentence=only, hide_special=hide)
    assert tuple(group.number for group in shown.groups) == numbers
    assert shown.explanation_of_scores == explanation
    rescaled = "; each row rescaled to sum to 100 %" if len(numbers) < 6 else ""
    assert shown.explanation == explanation + rescaled


WORDS = st.lists(st.integers(1, 4), min_size=1, max_size=5)
PARTS = st.sampled_from((None, 0, 1))


@given(WORDS, WORDS, PARTS, PARTS, st.booleans(), st.booleans(), st.integers(0, 2**32 - 1))
def test_weights_equal_products_with_summing_and_averaging_matrices(
    first: list[int], second: list[int], from_: int | None, to: int | None, hide: bool, merge: bool, seed: int
) -> None:
    text, other_text, tokens = pair(first, second)
    weights = random_weights(len(tokens), seed)
    queries, keys = (
        DisplayTokens(tokens, text, hide, merge, second=other_text, only_sentence=only)
        for only in (from_, to)
    )
    rows, columns = (
        np.array([[place in group.positions for group in shown.groups] for place in range(len(tokens))])
        for shown in (queries, keys)
    )
    expected = (rows / rows.sum(axis=0)).T @ weights.astype(np.float64) @ columns
    left = expected.sum(axis=-1)
    found = shown_weights(weights, queries, keys)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected / left[..., None], atol=1e-6)
    np.testing.assert_allclose(shown_share(weights, queries, keys), left, atol=1e-5)


def test_missing_sentence_is_refused() -> None:
    text, second, tokens = pair([1], [1])
    with pytest.raises(AttnvizError, match="the second sentence is missing"):
        DisplayTokens(tokens, text)
    with pytest.raises(AttnvizError, match="no second sentence"):
        DisplayTokens(PIECES, UNBREAKABLE, only_sentence=1)
    assert len(DisplayTokens(PIECES, UNBREAKABLE, only_sentence=0)) == len(PIECES)
    alone = tuple(token for token in tokens if token.special or token.sentence == 0)
    with pytest.raises(AttnvizError, match="special"):
        DisplayTokens(alone, text, second=second, only_sentence=1, hide_special=True)


def test_control_characters_are_shown_as_symbols() -> None:
    assert visible_text("a\0b\nc\r\x7f\x85\u2028d <script> ﷽ é") == "a␀b␊c␍␡��d <script> ﷽ é"
    tokens = (Token("ab", 5, 0, 3, 0, False),)
    assert titles(DisplayTokens(tokens, "a\0b")) == ('token 1: "a␀b", characters 1–3, read as ab',)
