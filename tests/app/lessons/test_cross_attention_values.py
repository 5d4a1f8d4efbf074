"""Cross-attention between two texts, recomputed in NumPy from their vectors."""

import numpy as np
import pytest

from attnviz.app.lessons import compute
from attnviz.app.lessons.cross_attention.values import cross, keys_by_weight

READER = "A hound was too tired to walk over the street."
SOURCE = "The dog did not cross the road as it was too tired."


def test_scores_weights_and_output_equal_numpy() -> None:
    found = cross(READER, SOURCE)
    scores, weights = found.scores[0], found.weights[0]
    assert weights.shape == scores.shape == (13, 15)
    query, key = (compute.run(text).hidden_states[-1].numpy() for text in (READER, SOURCE))
    np.testing.assert_allclose(scores, query @ key.T / np.sqrt(384), atol=1e-4)
    powers = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(weights, powers / powers.sum(axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found.output[0], weights @ key, atol=1e-5)
    assert not found.weights.flags.writeable


def test_similar_words_of_the_opening_pair_have_the_largest_weights() -> None:
    found = cross(READER, SOURCE)
    readers = [token.text for token in found.query_tokens]
    for query, key in (("hound", "dog"), ("street", "road"), ("tired", "tired")):
        first = keys_by_weight(found, readers.index(query))[0]
        assert found.key_tokens[first.place].text == key
        assert first.weight > 0.7


@pytest.mark.parametrize("query", range(13))
def test_keys_are_sorted_and_dot_products_are_lengths_times_cosine(query: int) -> None:
    found = cross(READER, SOURCE)
    keys = keys_by_weight(found, query)
    assert sorted(key.place for key in keys) == list(range(15))
    assert [key.weight for key in keys] == sorted(found.weights[0, query], reverse=True)
    length = np.linalg.norm(found.query[0, query])
    for key in keys:
        assert key.dot_product == pytest.approx(found.scores[0, query, key.place] * np.sqrt(384), abs=1e-3)
        assert key.dot_product == pytest.approx(length * key.length * key.cosine, rel=1e-5)


def test_a_text_with_itself_has_symmetric_scores() -> None:
    found = cross(READER, READER)
    assert found.weights.shape == (1, 13, 13)
    assert found.scores[0] == pytest.approx(found.scores[0].T, abs=1e-3)
