"""Points in a plane from their distances, and groups of them: by hand, and by another way to the same."""

from itertools import combinations

import numpy as np
import pytest
from attnviz.analysis.clusters import groups, scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from attnviz.analysis.divergence import divergences
from attnviz.trace import Trace

Points = NDArray[np.float64]


def squares(points: Points) -> Points:
    return np.asarray(((points[:, None] - points) ** 2).sum(axis=-1))


def by_coordinates(points: Points, count: int) -> set[frozenset[int]]:
    """Ward's rule from the points themselves: the union that adds least to the squares within groups."""
    found = [frozenset([at]) for at in range(len(points))]

    def within(group: frozenset[int]) -> float:
        members = points[sorted(group)]
        return float(((members - members.mean(axis=0)) ** 2).sum())

    while len(found) > count:
        one, other = min(
            combinations(found, 2),
            key=lambda pair: within(pair[0] | pair[1]) - within(pair[0]) - within(pair[1]),
        )
        found = [group for group in found if group not in (one, other)] + [one | other]
    return set(found)


def as_sets(numbers: NDArray[np.intp]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(numbers == number).tolist()) for number in range(numbers.max() + 1)}


def places(dimensions: int, least: int = 2, most: int = 11) -> st.SearchStrategy[Points]:
    return st.integers(least, most).flatmap(
        lambda count: arrays(np.float64, (count, dimensions), elements=st.floats(-8, 8, width=32))
    )


def test_a_rectangle_by_hand() -> None:
    """Sides 4 and 2: the long one lies across, and the plane keeps everything."""
    found = scaled(squares(np.array([[0.0, 0.0], [0.0, 4.0], [2.0, 4.0], [2.0, 0.0]])))
    np.testing.assert_allclose(np.abs(found.points), [[2, 1]] * 4, atol=1e-9)
    assert found.kept == pytest.approx(1)


def test_a_third_direction_is_what_is_lost() -> None:
    """Three pairs of points on three axes, at 3, 2 and 1 from 0: squares 9 + 4 of 9 + 4 + 1 are kept."""
    axes = np.diag([3.0, 2.0, 1.0])
    found = scaled(squares(np.concatenate([axes, -axes])))
    assert found.kept == pytest.approx(13 / 14)


@settings(max_examples=60, deadline=None)
@given(places(2))
def test_a_plane_comes_back(points: Points) -> None:
    found = scaled(squares(points))
    np.testing.assert_allclose(squares(found.points), squares(points), atol=1e-6)
    np.testing.assert_allclose(found.points.mean(axis=0), 0, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(places(5))
def test_distances_only_shrink_by_what_is_not_kept(points: Points) -> None:
    given, found = squares(points), scaled(squares(points))
    drawn = squares(found.points)
    assert (drawn <= given + 1e-6).all()
    assert drawn.sum() == pytest.approx(found.kept * given.sum(), abs=1e-6)


@pytest.mark.parametrize("count", [1, 2])
def test_of_very_few_points(count: int) -> None:
    found = scaled(np.full((count, count), 4.0) - 4 * np.eye(count))
    assert found.points.shape == (count, 2)
    assert found.kept == 1
    np.testing.assert_allclose(np.abs(found.points), [[0, 0]] if count == 1 else [[1, 0]] * 2, atol=1e-9)


def test_groups_on_a_line_by_hand() -> None:
    """0 and 1 join, then 9 and 11; 5 adds 14 − 0.5 to the left and 18.67 − 2 to the right: it goes left."""
    line = np.array([[0.0], [9.0], [1.0], [11.0], [5.0]])
    assert groups(squares(line), 3).tolist() == [0, 1, 0, 1, 2]
    assert groups(squares(line), 2).tolist() == [0, 1, 0, 1, 0]


@settings(max_examples=60, deadline=None)
@given(places(3, least=3, most=9), st.integers(1, 3))
def test_groups_as_by_coordinates(points: Points, count: int) -> None:
    generic = points + np.random.default_rng(7).normal(size=points.shape)  # no two pairs equally far
    assert as_sets(groups(squares(generic), count)) == by_coordinates(generic, count)


@settings(max_examples=40, deadline=None)
@given(places(3, least=4), st.integers(1, 4))
def test_the_largest_group_is_named_first(points: Points, count: int) -> None:
    numbers = groups(squares(points), count)
    sizes = np.bincount(numbers, minlength=count)
    assert sizes.min() >= 1
    assert sizes.tolist() == sorted(sizes, reverse=True)


def test_too_many_groups() -> None:
    with pytest.raises(ValueError, match="2 points cannot be gathered into 3 groups"):
        groups(np.zeros((2, 2)), 3)


def test_roots_of_divergences_are_distances_in_some_space(tired: Trace) -> None:
    """So the plane is an honest shadow: no direction has a negative square (Fuglede & Topsøe 2004)."""
    squared = divergences([layer[None] for layer in tired.stack("encoder")]).mean
    centred = np.eye(72) - 1 / 72
    strengths = np.linalg.eigvalsh(-0.5 * centred @ squared @ centred)
    assert strengths.min() > -1e-6
    assert scaled(squared).kept == pytest.approx(strengths[-2:].sum() / strengths.sum(), abs=1e-5)
