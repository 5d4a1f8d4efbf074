"""The averages, recomputed by numpy from transformers' own table of words; and the ways to split a text."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnviz.app.learn.weighted_average.compute import (
    ADDITIVE,
    CHARACTERS,
    SCORES,
    TRAINED_HEAD,
    TRAINED_LAYER,
    WORDS,
    average,
    best_with_itself,
    difference_alone,
    even_mix,
    random_additive,
    score_named,
    split,
    trained_weights,
    weighted_average,
    word_pieces,
    word_vectors,
    words,
)
from tests import reference_bert

TIRED = "The dog did not cross the road as it was too tired."
IT, DOG, ROAD = 8, 1, 6
SEED = 5
SCORINGS = [*SCORES, ADDITIVE]


@pytest.fixture(scope="module")
def table() -> NDArray[np.float64]:
    return reference_bert.word_vectors(TIRED)[1]


def scores_of(x: NDArray[np.float64], scoring: str) -> NDArray[np.float64]:
    lengths = np.sqrt((x**2).sum(axis=1))
    if scoring == ADDITIVE:
        w, u, v = (matrix.double().numpy() for matrix in random_additive(x.shape[1], SEED))
        return np.array([[v @ np.tanh(w @ q + u @ k) for k in x] for q in x])
    divisors = {
        "Dot product": 1.0,
        "Scaled dot product": np.sqrt(x.shape[1]),
        "Cosine": lengths[:, None] * lengths,
    }
    return np.asarray(x @ x.T / divisors[scoring])


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("temperature", [0.3, 1.0, 30.0])
def test_every_number_equals_numpy(table: NDArray[np.float64], scoring: str, temperature: float) -> None:
    found = average(TIRED, scoring, temperature, SEED)
    scores = scores_of(table, scoring)
    exponentials = np.exp(scores / temperature)
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    mixed = weights @ table
    lengths = np.linalg.norm(table, axis=1)
    np.testing.assert_allclose(found.vectors, table, atol=1e-7)
    np.testing.assert_allclose(found.scores, scores, atol=1e-5)
    np.testing.assert_allclose(found.weights, weights, atol=1e-5)
    np.testing.assert_allclose(found.output, mixed, atol=1e-6)
    np.testing.assert_allclose(
        found.fixed_similarity, table @ table.T / np.outer(lengths, lengths), atol=1e-5
    )
    expected = mixed @ table.T / np.outer(np.linalg.norm(mixed, axis=1), lengths)
    np.testing.assert_allclose(found.mixed_similarity, expected, atol=1e-5)


def test_one_query_is_its_row() -> None:
    found, vectors = average(TIRED, ADDITIVE, 0.3, SEED), word_vectors(TIRED)
    with torch.inference_mode():
        alone = weighted_average(vectors[[IT]], vectors, vectors, score_named(ADDITIVE, SEED), 0.3)
    differences = [
        np.abs(alone.weights[0].numpy() - found.weights[IT]),
        np.abs(alone.output[0].numpy() - found.output[IT]),
    ]
    largest = max(float(each.max()) for each in differences)
    assert largest < 1e-6
    assert difference_alone(TIRED, ADDITIVE, 0.3, SEED, IT) == largest


def test_the_tokens_are_those_of_the_sentence() -> None:
    labels = [group.label for group in average(TIRED, "Cosine", 1.0).tokens]
    assert labels == [*TIRED.lower().removesuffix(".").split(), "."]


def test_what_the_page_says_about_it() -> None:
    """Itself first, dog and road close together: nothing was learned; the trained head tells them apart."""
    found = average(TIRED, "Dot product", 1.0)
    row = found.weights[IT]
    assert row.argmax() == IT
    assert abs(row[DOG] - row[ROAD]) < 0.01
    assert (found.mixed_similarity[IT, [DOG, ROAD]] > found.fixed_similarity[IT, [DOG, ROAD]] + 0.1).all()
    trained = trained_weights(TIRED, IT)
    assert trained[DOG] > 5 * trained[ROAD] > 0.5


def test_the_trained_head_is_that_of_transformers() -> None:
    expected = reference_bert.forward(TIRED).weights[TRAINED_LAYER, TRAINED_HEAD, 1 + IT, 1:-1]
    np.testing.assert_allclose(trained_weights(TIRED, IT), expected, atol=1e-5)


def test_best_with_itself_counts_words_and_not_places() -> None:
    assert best_with_itself(average(TIRED, "Cosine", 1.0)) == 13
    additive = average(TIRED, ADDITIVE, 1.0, SEED)
    own = np.diag(additive.scores)
    assert best_with_itself(additive) == sum(own[i] >= max(additive.scores[i]) - 1e-6 for i in range(13))


def test_an_even_mix() -> None:
    assert even_mix(np.array([0, 1, 0], np.float32)) == 1
    assert even_mix(np.full(7, 1 / 7, np.float32)) == pytest.approx(7, abs=1e-5)
    # −½ ln ½ − ½ ln ¼ = 1.5 ln 2, and e to that is 2^1.5.
    assert even_mix(np.array([0.5, 0.25, 0.25], np.float32)) == pytest.approx(2**1.5)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
plain_words = st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=17), min_size=1, max_size=7)


@given(text=texts, kind=st.sampled_from([CHARACTERS, WORDS]))
def test_a_text_is_cut_without_a_rest_and_the_ids_give_it_back(text: str, kind: str) -> None:
    found = split(kind, text)
    assert found.back == text
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


@given(some=plain_words)
def test_word_pieces_of_plain_words_give_the_text_back(some: list[str]) -> None:
    text = " ".join(some)
    found = word_pieces(text)
    assert found.back == text
    for piece in found.pieces[1:-1]:
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
