"""One head's queries and keys as points of a plane, and how much of the head that plane keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnviz.trace import Doubles, Mask

Keeps = Literal["distances", "dot products"]
Corner = tuple[float, float]

NEAREST = 10
"""Of so many nearest points it is asked how many a plane keeps."""

ANCHORS = 200
"""Of so many points at most it is asked."""

_AXES = 2


@dataclass(frozen=True, eq=False)
class Plane:
    """Queries and keys as points.

    Attributes:
        keeps: what it keeps as well as any plane can: distances, or the dot products of queries with keys.
        queries: float64 [query, 2].
        keys: float64 [key, 2].
        shares: of each axis, 0 to 1: its part of the variance, or of the sum of all squared dot products.
    """

    keeps: Keeps
    queries: Doubles
    keys: Doubles
    shares: tuple[float, float]

    @property
    def kept(self) -> float:
        """What both axes keep together, 0 to 1."""
        return min(1.0, sum(self.shares))

    @property
    def shown(self) -> Doubles:
        """What the plane says in place of what it keeps, [query, key]: its distances, or its dot products."""
        if self.keeps == "dot products":
            return self.queries @ self.keys.T
        return distances(self.queries, self.keys)


def plane(query: ArrayLike, key: ArrayLike, keeps: Keeps) -> Plane:
    """The plane that keeps distances, or dot products, better than any other.

    Distances: principal components (Pearson 1901) of queries and keys together, centred on their common
    mean. It is a projection, so that a distance in it is never longer than the true one.
    Dot products: with QKᵀ = UΣVᵀ, the points are the first two columns of U√Σ and V√Σ; their dot products
    are the best approximation of QKᵀ by a matrix of rank 2 (Eckart & Young 1936).

    The signs of the axes are free; of each, the farthest point lies on the positive side.

    Args:
        query: [query, d_head] of one head.
        key: [key, d_head].
        keeps: "distances" or "dot products".
    """
    q, k = np.asarray(query, np.float64), np.asarray(key, np.float64)
    points, strengths = _by_distances(q, k) if keeps == "distances" else _by_dot_products(q, k)
    points = _two(points)
    points = points * signs(points)
    squares = _two(strengths[None] ** 2)[0]
    # Where every vector is the same one, nothing varies, and nothing is lost.
    total = float((strengths**2).sum())
    first, second = (squares / total).tolist() if total > 0 else (1.0, 0.0)
    return Plane(keeps, points[: len(q)], points[len(q) :], (first, second))


def signs(points: Doubles) -> Doubles:
    """+1 or −1 for each axis of [point, axis], by which its farthest point comes on the positive side."""
    farthest = np.take_along_axis(points, np.abs(points).argmax(axis=0)[None], axis=0)[0]
    return np.where(farthest < 0, -1.0, 1.0)


def distances(query: ArrayLike, key: ArrayLike) -> Doubles:
    """How far each query lies from each key, ‖q − k‖, [query, key]; vectors of any length."""
    q, k = np.asarray(query, np.float64), np.asarray(key, np.float64)
    # One query at a time: all differences at once would take d_head times as much memory.
    return np.stack([np.linalg.norm(k - each, axis=-1) for each in q])


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """How far what a plane says is what is true, over all pairs of a query and a key.

    Attributes:
        correlation: Pearson's, −1 to 1; None where one of the two does not vary.
        query, key: the pair with the largest error, from 0.
        true, shown: what is true of that pair, and what the plane says.
    """

    correlation: float | None
    query: int
    key: int
    true: float
    shown: float


def faithfulness(true: Doubles, shown: Doubles) -> Faithfulness:
    """Compare what is true with what a plane shows, both [query, key]."""
    query, key = np.unravel_index(np.abs(true - shown).argmax(), true.shape)
    here = int(query), int(key)
    # Rounding alone makes numbers vary that are all the same.
    vary = all(np.ptp(each) > 1e-9 * np.abs(each).max() for each in (true, shown))
    correlation = float(np.corrcoef(true.ravel(), shown.ravel())[0, 1]) if vary else None
    return Faithfulness(correlation, *here, float(true[here]), float(shown[here]))


@dataclass(frozen=True, slots=True)
class Agreement:
    """For how many queries the closest key is the one with the largest weight.

    Attributes:
        found: so many queries.
        of: all queries that may look at more than one key.
        chance: how many it would be if each pointed at one of its keys at random.
    """

    found: int
    of: int
    chance: float


def agreement(weights: ArrayLike, closeness: Doubles, allowed: Mask) -> Agreement:
    """Whether closeness tells the largest weight, query by query.

    Args:
        weights: [query, key], as they are shown.
        closeness: [query, key]: larger is closer (minus the distances, say, or the dot products).
        allowed: [query, key], True where a query may look; every row has at least one True.
    """
    choice = allowed.sum(axis=-1) > 1
    looks = np.where(allowed, weights, -np.inf).argmax(axis=-1)
    closest = closest_keys(closeness, allowed)
    return Agreement(
        found=int((looks == closest)[choice].sum()),
        of=int(choice.sum()),
        chance=float((1 / allowed.sum(axis=-1))[choice].sum()),
    )


def closest_keys(closeness: Doubles, allowed: Mask) -> NDArray[np.intp]:
    """The closest key of each query among those that it may look at, [query], from 0."""
    return np.asarray(np.where(allowed, closeness, -np.inf).argmax(axis=-1), dtype=np.intp)


def apart(query: ArrayLike, key: ArrayLike) -> float:
    """How much of the variance is only that queries lie elsewhere than keys, 0 to 1.

    The sum of squares between the two groups' means over that around the common mean.
    """
    groups: Sequence[Doubles] = [np.asarray(each, np.float64) for each in (query, key)]
    together = np.concatenate(groups)
    centre = together.mean(axis=0)
    total = float(((together - centre) ** 2).sum())
    between = sum(len(each) * float(((each.mean(axis=0) - centre) ** 2).sum()) for each in groups)
    return between / total if total > 0 else 0.0


def jointly_scaled(query: ArrayLike, key: ArrayLike) -> tuple[Doubles, Doubles]:
    """Queries and keys moved and scaled so that distance stands for dot product, with the same weights.

    After AttentionViz (Yeh et al. 2023): the keys' mean is moved to that of the queries, and queries are
    multiplied by what keys are divided by, here so that both are equally spread. All keys moved by one vector
    change all scores of a query by one number, which softmax takes away; the two factors cancel. That holds
    as long as nothing stands between dot products and softmax: no cap, no sink.

    Args:
        query: [query, d_head] of one head.
        key: [key, d_head].
    """
    q, k = np.asarray(query, np.float64), np.asarray(key, np.float64)
    k = k - k.mean(axis=0)
    spread, of_keys = (q - q.mean(axis=0)).std(), k.std()
    factor = float((of_keys / spread) ** 0.5) if spread and of_keys else 1.0
    q, k = q * factor, k / factor
    return q, k + q.mean(axis=0)


def nearest_kept(laid: Plane, query: ArrayLike, key: ArrayLike) -> float:
    """Which share of the nearest points, or of the largest dot products, a plane keeps, 0 to 1.

    It is asked of `ANCHORS` points at most, spread evenly: of each its `NEAREST` nearest points, queries and
    keys alike, or of each query so many keys with the largest dot products.

    Args:
        laid: the plane.
        query, key: [query, d_head] and [key, d_head], of which it was made; more than `NEAREST` of each.
    """
    q, k = np.asarray(query, np.float64), np.asarray(key, np.float64)
    products = laid.keeps == "dot products"
    count = len(q) + (0 if products else len(k))
    some = np.linspace(0, count - 1, min(ANCHORS, count)).astype(int)
    near = []
    for queries, keys in ((q, k), (laid.queries, laid.keys)):
        if products:
            far = -queries[some] @ keys.T
        else:
            every = np.concatenate([queries, keys])
            far = (every**2).sum(axis=-1) - 2 * every[some] @ every.T  # but for what each row has in common
            far[np.arange(len(some)), some] = np.inf
        near.append(np.argpartition(far, NEAREST, axis=-1)[:, :NEAREST])
    return float((near[0][:, :, None] == near[1][:, None, :]).any(axis=-1).mean())


def _by_distances(query: Doubles, key: Doubles) -> tuple[Doubles, Doubles]:
    """All points along all principal axes, queries first, and the singular values."""
    together = np.concatenate([query, key])
    left, strengths, _ = np.linalg.svd(together - together.mean(axis=0), full_matrices=False)
    return left * strengths, strengths


def _by_dot_products(query: Doubles, key: Doubles) -> tuple[Doubles, Doubles]:
    """The same of the factors of QKᵀ, each with half of the strength.

    QKᵀ itself, thousands by thousands, is never made: with Q = AR and K = BS, it is A(RSᵀ)Bᵀ.
    """
    (a, r), (b, s) = (np.linalg.qr(each) for each in (query, key))
    left, strengths, right = np.linalg.svd(r @ s.T, full_matrices=False)
    return np.concatenate([a @ left, b @ right.T]) * np.sqrt(strengths), strengths


def _two(columns: Doubles) -> Doubles:
    """The first two columns; one that is not there is 0."""
    missing = max(0, _AXES - columns.shape[-1])
    return np.pad(columns[:, :_AXES], ((0, 0), (0, missing)))


def inside(points: Doubles, area: Sequence[Corner]) -> NDArray[np.intp]:
    """The points, [point, 2], that lie in a polygon; of a single corner, the one that is closest to it."""
    x, y = points.T
    if len(area) == 1:
        [[across, up]] = area
        return np.array([np.argmin((x - across) ** 2 + (y - up) ** 2)])
    found = np.zeros(len(points), np.bool_)
    for at, (right, top) in enumerate(area):
        left, bottom = area[at - 1]
        crossed = (top > y) != (bottom > y)
        found[crossed] ^= x[crossed] < (left - right) * (y[crossed] - top) / (bottom - top) + right
    return np.flatnonzero(found)
