"""The page's numbers, recomputed by numpy from transformers' own table of words."""

import numpy as np
import pytest
from numpy.typing import NDArray

from attnviz.app.learn.weighted_average.compute import (
    ADDITIVE,
    SCORES,
    TRAINED_HEAD,
    TRAINED_LAYER,
    average,
    best_with_itself,
    even_mix,
    one_query,
    random_additive,
    trained_weights,
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


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("temperature", [0.0, 0.01, 1.0, float("inf")])
def test_rows_sum_to_one_and_one_query_equals_its_row(scoring: str, temperature: float) -> None:
    found = average(TIRED, scoring, temperature, SEED)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, atol=1e-6)
    for query in range(len(found.tokens)):
        alone = one_query(TIRED, scoring, temperature, SEED, query)
        np.testing.assert_allclose(alone.weights, found.weights[query], atol=1e-6)
        np.testing.assert_allclose(alone.output, found.output[query], atol=1e-6)
        assert alone.difference < 1e-6


def test_the_tokens_are_those_of_the_sentence() -> None:
    labels = [group.label for group in average(TIRED, "Cosine", 1.0).tokens]
    assert labels == [*TIRED.lower().removesuffix(".").split(), "."]


def test_the_limits_of_the_temperature() -> None:
    hard, even = average(TIRED, "Dot product", 0.0), average(TIRED, "Dot product", float("inf"))
    assert hard.weights[IT].argmax() == IT
    assert hard.weights[IT].max() == 1
    # The two "the" have the same vector, so the lookup finds both.
    assert sorted(hard.weights[0].tolist())[-2:] == [0.5, 0.5]
    np.testing.assert_allclose(even.output, np.tile(even.vectors.mean(axis=0), (13, 1)), atol=1e-6)


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
    inputs = reference_bert.tokenizer()(TIRED, return_tensors="pt")
    weights = reference_bert.model()(**inputs, output_attentions=True).attentions
    expected = weights[TRAINED_LAYER][0, TRAINED_HEAD, 1:-1, 1:-1].detach().numpy()
    np.testing.assert_allclose(trained_weights(TIRED, IT), expected[IT], atol=1e-5)


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


def test_nobody_can_write_to_the_numbers() -> None:
    found = average(TIRED, "Cosine", 1.0)
    for array in (found.vectors, found.scores, found.weights, found.output, found.mixed_similarity):
        assert not array.flags.writeable


def test_there_is_no_such_scoring() -> None:
    with pytest.raises(KeyError):
        average(TIRED, "Fuzzy", 1.0)
