"""Characters, words and word pieces: the way back, the places in the text, and the ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.app.learn.weighted_average.compute import (
    CHARACTERS,
    WORDS,
    characters,
    split,
    word_pieces,
    words,
)
from attnviz.errors import EmptyText
from tests import reference_bert

TIRED = "The dog did not cross the road as it was too tired."

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
plain_words = st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=17), min_size=1, max_size=7)


@given(text=texts, kind=st.sampled_from([CHARACTERS, WORDS]))
def test_the_ids_give_the_text_back(text: str, kind: str) -> None:
    assert split(kind, text).back == text


@given(text=texts, kind=st.sampled_from([CHARACTERS, WORDS]))
def test_spans_point_at_the_tokens_and_leave_nothing_out(text: str, kind: str) -> None:
    pieces = split(kind, text).pieces
    assert [text[piece.start : piece.end] for piece in pieces] == [piece.text for piece in pieces]
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text


@given(text=texts, kind=st.sampled_from([CHARACTERS, WORDS]))
def test_ids_are_places_in_the_sorted_vocabulary(text: str, kind: str) -> None:
    found = split(kind, text)
    vocabulary = sorted({piece.text for piece in found.pieces})
    assert found.vocabulary == len(vocabulary)
    assert [vocabulary[piece.id] for piece in found.pieces] == [piece.text for piece in found.pieces]


def test_characters() -> None:
    found = characters("noon")
    assert [(piece.text, piece.id) for piece in found.pieces] == [("n", 0), ("o", 1), ("o", 1), ("n", 0)]
    assert found.vocabulary == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dog.", ["The", " ", "dog", "."]),
        ("isn't", ["isn", "'", "t"]),
        ("3 cafés,  été!?", ["3", " ", "cafés", ",", "  ", "été", "!", "?"]),
        ("cafe\u0301", ["cafe\u0301"]),
        ("नमस्ते", ["नमस्ते"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert [piece.text for piece in words(text).pieces] == expected


@given(some=plain_words)
def test_word_pieces_of_plain_words_give_the_text_back(some: list[str]) -> None:
    text = " ".join(some)
    assert word_pieces(text).back == text


@given(some=plain_words)
def test_spans_of_word_pieces_point_at_their_letters(some: list[str]) -> None:
    text = " ".join(some)
    for piece in word_pieces(text).pieces[1:-1]:
        assert text[piece.start : piece.end] == piece.text.removeprefix("##")


def test_word_pieces_lose_capitals_only() -> None:
    found = word_pieces(TIRED)
    assert found.back == TIRED.lower()
    assert [TIRED[piece.start : piece.end] for piece in found.pieces][:3] == ["", "The", "dog"]


@pytest.mark.parametrize("text", [TIRED, "Unhappier tokenization isn't ÉTÉ.", "🙂 שלום"])
def test_word_pieces_are_those_of_transformers(text: str) -> None:
    theirs = reference_bert.tokenizer()
    found = word_pieces(text)
    ids = theirs(text)["input_ids"]
    assert [piece.id for piece in found.pieces] == ids
    assert [piece.text for piece in found.pieces] == theirs.convert_ids_to_tokens(ids)
    assert found.vocabulary == len(theirs)


def test_word_pieces_of_nothing() -> None:
    with pytest.raises(EmptyText):
        word_pieces(" ")
