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
    n, m = len(found.readers), len(found.sources)
    assert n != m
    assert found.weights.shape == found.dot_products.shape == (n, m)
    asking, offered = (compute.run(text).hidden_states[layer].numpy() for text in (READER, SOURCE))
    np.testing.assert_allclose(found.dot_products, asking @ offered.T, atol=1e-3)
    np.testing.assert_allclose(found.scores, found.dot_products / np.sqrt(384), rtol=1e-5)
    np.testing.assert_array_equal(found.values, offered)
    powers = np.exp(found.scores.astype(np.float64) - found.scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found.weights, powers / powers.sum(axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(found.output, found.weights @ found.values, atol=1e-5)
    np.testing.assert_allclose(found.block.weights[0], found.weights, atol=1e-6)
    assert not found.weights.flags.writeable


def test_the_opening_pair_shows_what_the_page_says() -> None:
    found = cross(READER, SOURCE, 6)
    readers, sources = ([token.text for token in tokens] for tokens in (found.readers, found.sources))
    for reader, source, least in (("hound", "dog", 0.7), ("street", "road", 0.7), ("tired", "tired", 0.9)):
        row = found.weights[readers.index(reader)]
        assert sources[int(row.argmax())] == source
        assert row.max() > least


def test_a_text_that_reads_itself_is_self_attention() -> None:
    found = cross(READER, READER, 6)
    assert found.weights.shape == (13, 13)
    assert found.dot_products == pytest.approx(found.dot_products.T, abs=1e-3)
    assert found.weights.sum(axis=0) != pytest.approx(np.ones(13), abs=0.01)
