"""The tokens of one text read those of another: recomputed by numpy from the vectors of both."""

import numpy as np
import pytest

from attnviz.app.learn import compute
from attnviz.app.learn.cross_attention.compute import cross

READER = "A hound was too tired to walk over the street."
SOURCE = "The dog did not cross the road as it was too tired."


@pytest.mark.parametrize("layer", [0, 3, 6])
def test_two_real_texts(layer: int) -> None:
    found = cross(READER, SOURCE, layer)
    n, m = len(found.query_tokens), len(found.key_tokens)
    assert n != m
    scores, weights = found.scores[0], found.weights[0]
    assert weights.shape == scores.shape == (n, m)
    asking, offered = (compute.run(text).hidden_states[layer].numpy() for text in (READER, SOURCE))
    np.testing.assert_allclose(scores, asking @ offered.T / np.sqrt(384), atol=1e-4)
    np.testing.assert_array_equal(found.value[0], offered)
    powers = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(weights, powers / powers.sum(axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(found.output[0], weights @ offered, atol=1e-5)
    assert not found.weights.flags.writeable


def test_the_opening_pair_shows_what_the_page_says() -> None:
    found = cross(READER, SOURCE, 6)
    readers, sources = ([token.text for token in tokens] for tokens in (found.query_tokens, found.key_tokens))
    for reader, source, least in (("hound", "dog", 0.7), ("street", "road", 0.7), ("tired", "tired", 0.9)):
        row = found.weights[0, readers.index(reader)]
        assert sources[int(row.argmax())] == source
        assert row.max() > least


def test_a_text_that_reads_itself_is_self_attention() -> None:
    found = cross(READER, READER, 6)
    assert found.weights.shape == (1, 13, 13)
    assert found.scores[0] == pytest.approx(found.scores[0].T, abs=1e-3)
    assert found.weights[0].sum(axis=0) != pytest.approx(np.ones(13), abs=0.01)
