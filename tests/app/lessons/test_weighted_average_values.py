"""Weighted averages, recomputed in NumPy from transformers' word embeddings, and the ways to split a text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnviz.app.lessons.weighted_average.values import (
    ADDITIVE,
    BYTES,
    CHARACTERS,
    HIDDEN,
    SCORES,
    SEED,
    WORDS,
    Additive,
    average,
    single_query_difference,
    split,
    utf8_bytes,
    word_pieces,
    words,
)
from tests import reference_bert

TIRED = "The dog did not cross the road as it was too tired."
IT = 8
SCORINGS = [*SCORES, ADDITIVE]


@pytest.fixture(scope="module")
def table() -> NDArray[np.float64]:
    return reference_bert.word_vectors(TIRED)[1]


def scores_of(x: NDArray[np.float64], scoring: str) -> NDArray[np.float64]:
    lengths = np.sqrt((x**2).sum(axis=1))
    if scoring == ADDITIVE:
        w, u, v = (matrix.double().numpy() for matrix in Additive.random(x.shape[1], HIDDEN, SEED))
        return np.array([[v @ np.tanh(w @ q + u @ k) for k in x] for q in x])
    divisors = {
        "Dot product": 1.0,
        "Scaled dot product": np.sqrt(x.shape[1]),
        "Cosine": lengths[:, None] * lengths,
    }
    return np.asarray(x @ x.T / divisors[scoring])


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("temperature", [0.3, 1.0, 30.0, np.inf])
def test_every_number_equals_numpy(table: NDArray[np.float64], scoring: str, temperature: float) -> None:
    found = average(TIRED, scoring, temperature)
    scores = scores_of(table, scoring)
    exponentials = np.exp(scores / temperature)
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    mixed = weights @ table
    np.testing.assert_allclose(found.vectors, table, atol=1e-7)
    np.testing.assert_allclose(found.scores, scores, atol=1e-5)
    np.testing.assert_allclose(found.weights, weights, atol=1e-5)
    np.testing.assert_allclose(found.output, mixed, atol=1e-6)


def test_single_query_equals_its_row_of_the_matrix_form() -> None:
    assert single_query_difference(TIRED, ADDITIVE, 0.3, IT) < 1e-6


def test_tokens_are_the_words_of_the_sentence() -> None:
    labels = [group.label for group in average(TIRED, "Cosine", 1.0).tokens]
    assert labels == [*TIRED.lower().removesuffix(".").split(), "."]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
plain_words = st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=17), min_size=1, max_size=7)


@given(text=texts, kind=st.sampled_from([CHARACTERS, WORDS]))
def test_pieces_cover_the_text_and_ids_decode_to_it(text: str, kind: str) -> None:
    found = split(kind, text)
    assert found.decoded == text
    spellings = [piece.text for piece in found.pieces]
    assert [text[piece.start : piece.end] for piece in found.pieces] == spellings
    assert "".join(spellings) == text
    vocabulary = sorted(set(spellings))
    assert found.vocabulary == len(vocabulary)
    assert [vocabulary[piece.id] for piece in found.pieces] == spellings


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


@given(text=texts)
def test_bytes_have_spans_and_decode_to_the_text(text: str) -> None:
    found = utf8_bytes(text)
    assert found.decoded == split(BYTES, text).decoded == text
    assert bytes(piece.id for piece in found.pieces) == text.encode()
    assert all(piece.id in text[piece.start : piece.end].encode() for piece in found.pieces)


@given(parts=plain_words)
def test_word_pieces_of_plain_words_decode_to_the_text(parts: list[str]) -> None:
    text = " ".join(parts)
    found = word_pieces(text)
    assert found.decoded == text
    for piece in found.pieces[1:-1]:
        assert text[piece.start : piece.end] == piece.text.removeprefix("##")


def test_word_pieces_lose_only_capitals() -> None:
    found = word_pieces(TIRED)
    assert found.decoded == TIRED.lower()
    assert [TIRED[piece.start : piece.end] for piece in found.pieces][:3] == ["", "The", "dog"]


@pytest.mark.parametrize("text", [TIRED, "Unhappier tokenization isn't ÉTÉ.", "🙂 שלום"])
def test_word_pieces_equal_transformers(text: str) -> None:
    reference = reference_bert.tokenizer()
    found = word_pieces(text)
    ids = reference(text)["input_ids"]
    assert [piece.id for piece in found.pieces] == ids
    assert [piece.text for piece in found.pieces] == reference.convert_ids_to_tokens(ids)
    assert found.vocabulary == len(reference)
