"""Conversion of typed text to tokens of the storyteller, and of tokens to text."""

from random import Random

import pytest

from attnviz.errors import EmptyText, TextTooLong, UnknownWords
from attnviz.trained.storyteller import reading
from attnviz.trained.storyteller.grammar import TOKEN_LIMIT, VOCABULARY
from attnviz.trained.vocabulary import START

WORDS = "when Mary and John went to the shop , John said : key"


def test_tokens_have_their_spans() -> None:
    text = "WHEN mary  and John went to the “shop”, John said: key!"
    tokens = reading.tokens(text)
    words = [START, *WORDS.split()]
    assert [token.text for token in tokens] == words
    assert [token.id for token in tokens] == VOCABULARY.ids(words)
    assert [token.special for token in tokens] == [True] + [False] * 13
    assert [text[token.start : token.end].lower() for token in tokens[1:]] == [w.lower() for w in words[1:]]


def test_unknown_words_are_reported_with_similar_words() -> None:
    with pytest.raises(UnknownWords) as caught:
        reading.tokens("Marry went to the shopp with xylophones and [PAD]")
    assert caught.value.words["Marry"][0] == "Mary"
    assert caught.value.words["shopp"][0] == "shop"
    assert [*caught.value.words] == ["Marry", "shopp", "with", "xylophones", "PAD"]


def test_empty_and_too_long_texts_are_refused() -> None:
    with pytest.raises(EmptyText):
        reading.tokens(" “ ” ")
    assert len(reading.tokens("key " * (TOKEN_LIMIT - 1))) == TOKEN_LIMIT
    with pytest.raises(TextTooLong, match=str(TOKEN_LIMIT)):
        reading.tokens("key " * TOKEN_LIMIT)


def test_written_text_is_tokenized_to_the_same_tokens() -> None:
    typed = "john gave a book to "
    ids = VOCABULARY.ids(["Mary", ".", "then", "Mary", "said", ":", "key", "."])
    text, tokens = reading.append_words(typed, reading.tokens(typed), ids)
    assert text == "john gave a book to Mary. then Mary said: key."
    assert tokens == reading.tokens(text)


@pytest.mark.parametrize("seed", range(20))
def test_random_beginnings_of_stories_can_be_tokenized(seed: int) -> None:
    assert 1 < len(reading.tokens(reading.beginning(Random(seed)))) < TOKEN_LIMIT  # noqa: S311 - not security-relevant
