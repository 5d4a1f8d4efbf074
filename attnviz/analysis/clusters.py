"""Heads as points of a plane (classical scaling), and as groups (Ward's method), by what they attend to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.pca import signs
from attnviz.trace import Doubles


@dataclass(frozen=True, eq=False)
class Scaled:
    """Points whose distances in a plane are as close to the given ones as classical scaling brings them.

    Attributes:
        points: float64 [point, 2], with the mean at 0; the first direction has the larger spread.
        kept: which share of the squared distances, summed over all pairs, the plane keeps; 1: all are exact.
    """

    points: Doubles
    kept: float


def scaled(squared: Doubles) -> Scaled:
    """Classical multidimensional scaling (Torgerson 1952): eigenvectors of −½ J D² J.

    Distances in the plane are never longer than the given ones if those are of points in some space, as
    square roots of Jensen–Shannon divergences, and of their means, are (Fuglede & Topsøe 2004).

    Args:
        squared: [point, point], the squares of the distances; symmetric, 0 on the diagonal.
    """
    size = len(squared)
    centred = np.eye(size) - 1 / max(size, 1)
    strengths, directions = np.linalg.eigh(-0.5 * centred @ squared @ centred)
    strengths, directions = np.maximum(strengths[::-1], 0), directions[:, ::-1]
    points = np.zeros((size, 2))
    found = directions[:, :2] * np.sqrt(strengths[:2])
    if size:
        points[:, : found.shape[1]] = found * signs(found)
    whole = float(strengths.sum())
    return Scaled(points, float(strengths[:2].sum()) / whole if whole > 0 else 1.0)


def groups(squared: Doubles, count: int) -> NDArray[np.intp]:
    """Gather points into groups: join two of them, again and again, until `count` are left.

    Joined are the two whose union adds least to the squared distances of points from the middle of their
    group (Ward 1963), which the formula of Lance & Williams (1967) tells from the distances alone.

    Args:
        squared: [point, point], the squares of the distances; symmetric.

    Returns:
        [point], the number of each point's group: 0 is the largest; of equal ones, that with the first point.

    Raises:
        ValueError: there are fewer points than groups, or no group.
    """
    points = len(squared)
    if not 1 <= count <= points:
        raise ValueError(f"{points} points cannot be gathered into {count} groups.")
    between = squared.astype(np.float64)
    np.fill_diagonal(between, np.inf)
    sizes = np.ones(points)
    group = np.arange(points)
    for _ in range(points - count):
        kept, joined = sorted(divmod(int(between.argmin()), points))
        near = (sizes[kept] + sizes) * between[kept] + (sizes[joined] + sizes) * between[joined]
        merged = (near - sizes * between[kept, joined]) / (sizes[kept] + sizes[joined] + sizes)
        between[kept] = between[:, kept] = merged
        between[joined] = between[:, joined] = np.inf
        sizes[kept] += sizes[joined]
        group[group == joined] = kept
    # A group's name is its first point, so that a stable sort leaves equally large groups in that order.
    names, members = np.unique(group, return_counts=True)
    ranks = np.empty(count, dtype=np.intp)
    ranks[np.argsort(-members, kind="stable")] = np.arange(count)
    return ranks[np.searchsorted(names, group)]
