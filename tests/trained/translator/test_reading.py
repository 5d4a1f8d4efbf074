"""Tokens of typed English and French, and errors for unknown words."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.errors import AttnvizError, EmptyText, TextTooLong, UnknownWords
from attnviz.readable import MAX_CHARACTERS
from attnviz.trained.translator import reading
from attnviz.trained.translator.grammar import format_sentence, sentence
from attnviz.trained.translator.reading import TOKEN_LIMIT, french, is_outside_grammar, tokens
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH

OPENING = "The dog did not cross the road as it was too tired."


def words(text: str) -> list[str]:
    return [token.text for token in tokens(text) if not token.special]


def test_tokens_of_the_opening_sentence() -> None:
    found = tokens(OPENING)
    assert words(OPENING) == OPENING.lower().strip(".").split()
    assert [token.id for token in found] == ENGLISH.ids([token.text for token in found])
    assert [OPENING[token.start : token.end].lower() for token in found[:-1]] == words(OPENING)
    assert [token.word for token in found] == [*range(12), None]
    assert (found[-1].text, found[-1].start, found[-1].end, found[-1].special) == ("[END]", 0, 0, True)


@pytest.mark.parametrize(
    "text",
    [
        "the dog didn't cross the road",
        "The dog didn’t cross the road!!!",
        "  THE   dog, did not — “cross” (the) road?",
        "'The dog' did not cross the\nroad",
        "the dog/did;not:cross…the road",
    ],
)
def test_punctuation_and_capitals_are_ignored(text: str) -> None:
    assert words(text) == ["the", "dog", "did", "not", "cross", "the", "road"]


def test_all_unknown_words_are_reported_as_typed() -> None:
    text = "The Zebra 🐕 didn't cros 12 roads as собака был; the Zebra's tyred can't."
    with pytest.raises(UnknownWords) as caught:
        tokens(text)
    found = caught.value.words
    assert list(found) == ["Zebra", "🐕", "cros", "12", "roads", "собака", "был", "Zebra's", "tyred", "can't"]
    assert found["cros"][0] == "cross"
    assert found["roads"][0] == "road"
    assert found["tyred"][0] == "tired"
    assert not found["🐕"]
    assert all(len(nearest) <= 3 for nearest in found.values())
    assert not any(word.startswith("[") for nearest in found.values() for word in nearest)


@pytest.mark.parametrize("text", ["", " ", "\n", "...!?", "' ’ '", "\u200b"])
def test_text_without_words_is_refused(text: str) -> None:
    for read in (tokens, french):
        with pytest.raises(EmptyText):
            read(text)


def test_too_long_text_is_refused() -> None:
    longest = "dog " * (TOKEN_LIMIT - 1)
    assert len(tokens(longest)) == TOKEN_LIMIT
    with pytest.raises(TextTooLong) as caught:
        tokens(longest + "dog")
    assert (caught.value.tokens, caught.value.limit) == (TOKEN_LIMIT + 1, TOKEN_LIMIT)


def test_too_many_characters_are_refused_before_tokenization(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_pieces", None)
    for read in (tokens, french):
        with pytest.raises(TextTooLong, match=r"20,001 characters; attnviz reads at most 20,000\."):
            read("x" * (MAX_CHARACTERS + 1))


@given(st.text(max_size=30))
def test_any_text_is_tokenized_or_refused_with_our_error(text: str) -> None:
    try:
        read = tokens(text)
    except AttnvizError:
        return
    for token in read[:-1]:
        assert token.text in ENGLISH
        assert 0 <= token.start < token.end <= len(text)


def test_sentences_of_the_grammar_are_tokenized_and_not_outside() -> None:
    rng = random.Random(3)  # noqa: S311 - not security-relevant
    for number in range(1000):
        pair = sentence(rng)
        if number < 200:  # the check is slow
            assert not is_outside_grammar(pair.source)
        assert tuple(words(format_sentence(pair.source))) == pair.source
        read = french(format_sentence(pair.target))
        assert tuple(token.text for token in read[1:]) == pair.target
        assert [token.id for token in read] == FRENCH.ids([token.text for token in read])


def test_french_elisions_are_tokens() -> None:
    text = "L’âne n'a pas suivi l'âne aujourd’hui puisqu'il e\u0301tait calme"
    read = french(text)
    joined = " ".join(token.text for token in read)
    assert joined == "[START] l' âne n' a pas suivi l' âne aujourd'hui puisqu' il était calme"
    assert text[read[1].start : read[1].end] == "L’"
    assert text[read[-2].start : read[-2].end] == "e\u0301tait"
    assert read[0].special


@pytest.mark.parametrize(
    "text",
    [
        "the road did not cross the dog as it was too tired",
        "it was tired as it was big",
        "the dog crossed the road as it was old",
        "the dog " * 19,
        "",
    ],
)
def test_sentences_not_in_the_grammar_are_outside(text: str) -> None:
    assert is_outside_grammar(text.split())
