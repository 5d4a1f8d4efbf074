"""Principal components, compared with the singular value decomposition of the centred vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.pca import principal_components


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 7, 31, 101]), st.sampled_from([1, 2, 3, 13, 37]))
def test_components_equal_the_singular_vectors(seed: int, count: int, d: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(3, 1, (count, d)) * random.uniform(0.1, 5, d)
    found = principal_components(vectors.astype(np.float32))
    vectors = vectors.astype(np.float32).astype(np.float64)
    centred = vectors - vectors.mean(axis=0)
    left, strengths, right = np.linalg.svd(centred, full_matrices=False)
    squares = np.pad(strengths**2, (0, 2))
    np.testing.assert_allclose(found.explained, squares[:2] / squares.sum(), atol=1e-9)
    rank = min(2, int((strengths > 1e-9 * strengths[0]).sum()))
    gaps = squares[:rank] - squares[1 : rank + 1]
    for axis in np.flatnonzero(gaps > 1e-6 * squares[0]):  # axes of equal variance are not unique
        expected = left[:, axis] * strengths[axis]
        points = found.project(vectors)[:, axis]
        np.testing.assert_allclose(points, np.sign(expected @ points) * expected, atol=1e-6)
        assert points[np.abs(points).argmax()] > 0
        other = random.normal(size=d)
        np.testing.assert_allclose(
            abs(found.project(other)[axis]), abs((other - vectors.mean(axis=0)) @ right[axis]), atol=1e-6
        )


@pytest.mark.parametrize(("count", "d"), [(1, 3), (5, 3), (5, 1)])
def test_constant_vectors_are_projected_to_the_origin(count: int, d: int) -> None:
    vectors = np.full((count, d), 7.0)
    found = principal_components(vectors)
    np.testing.assert_array_equal(found.project(vectors), np.zeros((count, 2)))
    assert found.explained == (0, 0)
