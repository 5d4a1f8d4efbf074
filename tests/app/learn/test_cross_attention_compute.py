import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.app.learn import compute
from attnviz.app.learn.cross_attention.compute import cross, read
from attnviz.errors import AttnvizError

READER = "A hound was too tired to walk over the street."
SOURCE = "The dog did not cross the road as it was too tired."


def vectors(tokens: int, size: int, seed: int) -> torch.Tensor:
    return torch.randn(tokens, size, generator=torch.Generator().manual_seed(seed))


@given(
    st.integers(0, 9999),
    st.sampled_from([(5, 7, 11), (7, 5, 11), (1, 13, 3), (13, 1, 3), (2, 2, 2)]),
)
@settings(deadline=None, max_examples=40)
def test_n_readers_read_m_sources(seed: int, sizes: tuple[int, int, int]) -> None:
    n, m, d = sizes
    reader, source = vectors(n, d, seed), vectors(m, d, seed + 1)
    steps = read(reader, source)
    assert steps.scores.shape == steps.weights.shape == (n, m)
    assert steps.output.shape == (n, d)
    assert steps.weights.sum(dim=1).tolist() == pytest.approx([1] * n, abs=1e-5)
    assert steps.weights.sum().item() == pytest.approx(n, abs=1e-4)

    # The same by numpy, in float64.
    q, k = reader.double().numpy(), source.double().numpy()
    powers = np.exp(q @ k.T / np.sqrt(d))
    weights = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(steps.weights, weights, atol=1e-5)
    np.testing.assert_allclose(steps.output, weights @ k, atol=1e-5)


@given(st.integers(0, 9999))
@settings(deadline=None, max_examples=30)
def test_what_is_read_lies_among_the_values(seed: int) -> None:
    reader, source = vectors(5, 3, seed), vectors(7, 3, seed + 1)
    output = read(reader, source).output
    # In every direction, no output is further out than the furthest value: it is inside their convex hull.
    for direction in vectors(11, 3, seed + 2):
        reach = source @ direction
        assert ((output @ direction) <= reach.max() + 1e-4).all()
        assert ((output @ direction) >= reach.min() - 1e-4).all()


def test_columns_need_not_sum_to_1() -> None:
    # Both readers look like the first source.
    reader, source = torch.tensor([[9.0, 0], [9, 0]]), torch.tensor([[9.0, 0], [0, 9], [0, -9]])
    assert read(reader, source).weights.sum(dim=0).tolist() == pytest.approx([2, 0, 0], abs=1e-5)


def test_the_order_of_the_source_does_not_matter() -> None:
    reader, source = vectors(5, 3, 0), vectors(7, 3, 1)
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    here, there = read(reader, source), read(reader, source[order])
    assert torch.allclose(here.weights[:, order], there.weights, atol=1e-6)
    assert torch.allclose(here.output, there.output, atol=1e-6)


@pytest.mark.parametrize("layer", [0, 3, 6])
def test_two_real_texts(layer: int) -> None:
    found = cross(READER, SOURCE, layer)
    n, m = len(found.readers), len(found.sources)
    assert n != m
    assert found.weights.shape == found.dot_products.shape == (n, m)
    assert found.weights.sum(axis=1) == pytest.approx(np.ones(n), abs=1e-5)
    asking, offered = (compute.run(text).hidden_states[layer].numpy() for text in (READER, SOURCE))
    np.testing.assert_allclose(found.dot_products, asking @ offered.T, atol=1e-3)
    np.testing.assert_allclose(found.scores, found.dot_products / np.sqrt(384), rtol=1e-5)
    np.testing.assert_array_equal(found.values, offered)
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


@pytest.mark.parametrize(("reader", "source"), [("", SOURCE), (READER, "  "), (READER, "dog " * 600)])
def test_what_cannot_be_read_is_refused(reader: str, source: str) -> None:
    with pytest.raises(AttnvizError):
        cross(reader, source, 6)
