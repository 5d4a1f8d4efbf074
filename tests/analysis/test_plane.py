"""The plane of queries and keys: worked by hand, beaten by no other plane, the same however it is turned."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from attnviz.analysis.plane import (
    Keeps,
    agreement,
    apart,
    closest_keys,
    distances,
    faithfulness,
    inside,
    jointly_scaled,
    nearest_kept,
    plane,
)

Array = NDArray[np.float64]

QUERIES, KEYS, D_HEAD = 7, 11, 5
KEEPS: tuple[Keeps, ...] = ("distances", "dot products")


def vectors(
    seed: int = 0, queries: int = QUERIES, keys: int = KEYS, d_head: int = D_HEAD
) -> tuple[Array, Array]:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(queries, d_head)), generator.normal(0.7, 1, size=(keys, d_head))


def turn(size: int, seed: int = 1) -> Array:
    """Any rotation, with a reflection perhaps."""
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


def test_four_points_by_hand() -> None:
    """Queries at (±3, 0, 0), keys at (0, ±1, 0): 18 of 20 squares lie along the first axis."""
    query, key = np.array([[3.0, 0, 0], [-3, 0, 0]]), np.array([[0, 1.0, 0], [0, -1, 0]])
    found = plane(query, key, "distances")
    assert found.shares == pytest.approx((0.9, 0.1))
    np.testing.assert_allclose(np.abs(found.queries), [[3, 0], [3, 0]], atol=1e-12)
    np.testing.assert_allclose(np.abs(found.keys), [[0, 1], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(found.shown, np.sqrt(10) * np.ones((2, 2)))


def test_dot_products_by_hand() -> None:
    """QKᵀ = diag(8, 3, 1): the plane keeps 64 + 9 of 74, and loses the last number whole."""
    found = plane(np.eye(3), np.diag([8.0, 3, 1]), "dot products")
    assert found.shares == pytest.approx((64 / 74, 9 / 74))
    np.testing.assert_allclose(found.shown, np.diag([8, 3, 0]), atol=1e-12)
    # Queries and keys have equal parts of the strength.
    np.testing.assert_allclose(np.abs(found.queries), np.abs(found.keys), atol=1e-12)


@pytest.mark.parametrize("d_head", [1, 2])
@pytest.mark.parametrize("keeps", KEEPS)
def test_what_is_a_plane_already_is_kept_whole(keeps: Keeps, d_head: int) -> None:
    query, key = vectors(d_head=d_head)
    found = plane(query, key, keeps)
    true = distances(query, key) if keeps == "distances" else query @ key.T
    np.testing.assert_allclose(found.shown, true, atol=1e-12)
    assert found.kept == pytest.approx(1)
    if keeps == "distances":
        # Not only from queries to keys: all points lie to each other as they did.
        points, vector = np.concatenate([found.queries, found.keys]), np.concatenate([query, key])
        np.testing.assert_allclose(distances(points, points), distances(vector, vector), atol=1e-12)


def test_no_other_plane_keeps_more_of_the_variance() -> None:
    """Against the eigenvalues of the covariance, and ten thousand random planes."""
    query, key = vectors()
    together = np.concatenate([query, key])
    covariance = np.cov(together.T)
    largest = np.linalg.eigvalsh(covariance)[::-1][:2]
    found = plane(query, key, "distances")
    np.testing.assert_allclose(found.shares, largest / np.trace(covariance))
    others = np.linalg.qr(np.random.default_rng(3).normal(size=(10_000, D_HEAD, 2)))[0]
    kept = np.einsum("pdi,de,pei->p", others, covariance, others) / np.trace(covariance)
    assert kept.max() <= found.kept


def test_no_other_plane_keeps_the_dot_products_better() -> None:
    """Eckart and Young: the error is the root of the squares left, and no random pair of factors has less."""
    query, key = vectors()
    true = query @ key.T
    found = plane(query, key, "dot products")
    error = np.linalg.norm(true - found.shown)
    left = np.sqrt(np.linalg.eigvalsh(true @ true.T)[:-2].sum())
    assert error == pytest.approx(left)
    assert found.kept == pytest.approx(1 - error**2 / (true**2).sum())
    generator = np.random.default_rng(4)
    for _ in range(300):
        # The best keys for any given queries: least squares.
        points = generator.normal(size=(QUERIES, 2))
        keys = np.linalg.lstsq(points, true, rcond=None)[0]
        assert np.linalg.norm(true - points @ keys) >= error


@pytest.mark.parametrize("keeps", KEEPS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_turning_queries_and_keys_together_changes_nothing(keeps: Keeps, seed: int) -> None:
    query, key = vectors(seed)
    turned = turn(D_HEAD, seed)
    one, other = plane(query, key, keeps), plane(query @ turned, key @ turned, keeps)
    np.testing.assert_allclose(other.queries, one.queries, atol=1e-10)
    np.testing.assert_allclose(other.keys, one.keys, atol=1e-10)
    assert other.shares == pytest.approx(one.shares)


def test_moving_everything_changes_distances_not_at_all() -> None:
    query, key = vectors()
    moved = plane(query + 31, key + 31, "distances")
    np.testing.assert_allclose(moved.queries, plane(query, key, "distances").queries, atol=1e-10)


@pytest.mark.parametrize("keeps", KEEPS)
def test_the_farthest_point_of_each_axis_is_on_the_positive_side(keeps: Keeps) -> None:
    query, key = vectors()
    for signs in (1, -1):
        points = plane(signs * query, signs * key, keeps)
        for axis in np.concatenate([points.queries, points.keys]).T:
            assert axis[np.abs(axis).argmax()] > 0


FINITE = st.floats(-100, 100, allow_nan=False, width=32)


@given(arrays(np.float64, (5, 3), elements=FINITE), arrays(np.float64, (2, 3), elements=FINITE))
def test_a_projection_never_lengthens(query: Any, key: Any) -> None:
    found = plane(query, key, "distances")
    assert 0 <= found.kept <= 1
    assert 0 <= apart(query, key) <= 1 + 1e-9
    assert (found.shown <= distances(query, key) + 1e-6).all()


@given(arrays(np.float64, (3, 5), elements=FINITE), arrays(np.float64, (2, 5), elements=FINITE))
def test_two_keys_are_a_plane_of_their_own(query: Any, key: Any) -> None:
    found = plane(query, key, "dot products")
    assert found.kept == pytest.approx(1)
    np.testing.assert_allclose(found.shown, query @ key.T, atol=1e-6 * (1 + np.abs(query @ key.T).max()))


def test_where_nothing_varies_nothing_is_lost() -> None:
    same = np.ones((3, 4))
    assert plane(same, same, "distances").kept == 1
    assert plane(0 * same, same, "dot products").kept == 1
    assert apart(same, same) == 0
    assert faithfulness(np.zeros((3, 3)), np.zeros((3, 3))).correlation is None


def test_one_token_is_one_pair() -> None:
    for keeps in KEEPS:
        found = plane([[3.0, 4]], [[0.0, 0]], keeps)
        assert found.shown == pytest.approx(5 if keeps == "distances" else 0)


def test_distances_are_pythagoras() -> None:
    query, key = vectors()
    for at in np.ndindex(QUERIES, KEYS):
        assert distances(query, key)[at] == pytest.approx(sum((query[at[0]] - key[at[1]]) ** 2) ** 0.5)


def test_faithfulness_names_the_worst_pair() -> None:
    true = np.array([[1.0, 2, 3], [4, 5, 6]])
    shown = np.array([[1.0, 2, 3], [4, 5, 2]])
    found = faithfulness(true, shown)
    assert (found.query, found.key, found.true, found.shown) == (1, 2, 6, 2)
    # By hand: means 3.5 and 17/6; sums of products and of squares around them.
    covariance = sum((t - 3.5) * (s - 17 / 6) for t, s in zip(true.ravel(), shown.ravel(), strict=True))
    squares = [17.5, sum((s - 17 / 6) ** 2 for s in shown.ravel())]
    assert found.correlation == pytest.approx(covariance / (squares[0] * squares[1]) ** 0.5)


def test_the_nearest_key_is_the_one_that_is_looked_at_in_so_many_rows() -> None:
    """The first row has no choice; in the second the nearest wins; in the third a forbidden key is nearer."""
    allowed = np.array([[True, False, False], [True, True, False], [True, False, True], [True, True, True]])
    weights = np.array([[1, 0, 0], [0.2, 0.8, 0], [0.7, 0, 0.3], [0.1, 0.2, 0.7]])
    far = np.array([[5.0, 1, 1], [3, 2, 1], [2, 1, 3], [1, 2, 3]])
    found = agreement(weights, -far, allowed)
    assert (found.found, found.of) == (2, 3)
    assert found.chance == pytest.approx(1 / 2 + 1 / 2 + 1 / 3)
    assert closest_keys(-far, allowed).tolist() == [0, 1, 0, 0]


def test_apart_is_the_share_between_the_groups() -> None:
    """Around 0 and 4, one apart each way: 2 · 2 · 4 of 20 squares lie between the two means."""
    query, key = np.array([[-1.0], [1]]), np.array([[3.0], [5]])
    assert apart(query, key) == pytest.approx(16 / 20)


@given(arrays(np.float64, (QUERIES, D_HEAD), elements=st.floats(-5, 5)), st.integers(0, 99))
def test_moved_and_scaled_jointly_the_weights_stay_and_both_are_equally_spread(
    query: Array, seed: int
) -> None:
    key = vectors(seed)[1]
    moved, scaled = jointly_scaled(query, key)
    np.testing.assert_allclose(moved.mean(axis=0), scaled.mean(axis=0), atol=1e-9)
    before, after = (
        np.exp(each - each.max(axis=1, keepdims=True)) for each in (query @ key.T, moved @ scaled.T)
    )
    sums = before.sum(axis=1, keepdims=True) / after.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(before, after * sums, atol=1e-6)
    if (query - query.mean(axis=0)).std() > 1e-3:
        assert (moved - moved.mean(axis=0)).std() == pytest.approx((scaled - scaled.mean(axis=0)).std())


@pytest.mark.parametrize("keeps", KEEPS)
def test_the_nearest_that_a_plane_keeps_are_counted_one_by_one(keeps: Keeps) -> None:
    query, key = vectors(queries=13, keys=17)
    laid = plane(query, key, keeps)
    shares = []
    for at in range(13 if keeps == "dot products" else 30):
        near = []
        for q, k in ((query, key), (laid.queries, laid.keys)):
            every = np.concatenate([q, k])
            far = -(k @ q[at]) if keeps == "dot products" else np.linalg.norm(every - every[at], axis=1)
            others = [other for other in np.argsort(far) if keeps == "dot products" or other != at]
            near.append(set(others[:10]))
        shares.append(len(near[0] & near[1]) / 10)
    assert nearest_kept(laid, query, key) == pytest.approx(np.mean(shares))
    whole = vectors(queries=13, keys=17, d_head=2)
    assert nearest_kept(plane(*whole, keeps), *whole) == 1


def test_inside_an_area_are_the_points_that_its_line_surrounds() -> None:
    """An L: the square from 0 to 2 without its upper right quarter; of one corner, the closest point."""
    area = ((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))
    points = np.array([[0.5, 0.5], [1.5, 0.5], [0.5, 1.5], [1.5, 1.5], [-0.5, 0.5], [0.5, 2.5]])
    assert inside(points, area).tolist() == inside(points, area[::-1]).tolist() == [0, 1, 2]
    assert inside(points, [(1.4, 1.2)]).tolist() == [3]
    assert inside(points, []).tolist() == []
