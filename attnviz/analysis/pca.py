"""Principal components: vectors as points on a map with two axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnviz.trace import Doubles

_AXES = 2


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """The two directions along which the vectors vary most (Pearson 1901).

    Attributes:
        mean: float64 [d], mean of the vectors.
        axes: float64 [2, d], unit vectors; an axis without variance may be zero.
        explained: Fraction of the variance along each axis, 0 to 1; 0 if all vectors are equal.
    """

    mean: Doubles
    axes: Doubles
    explained: tuple[float, float]

    def project(self, vectors: ArrayLike) -> Doubles:
        """Return vectors, [..., d], as points of the map, [..., 2]."""
        points: Doubles = (np.asarray(vectors, np.float64) - self.mean) @ self.axes.T
        return points


def principal_components(vectors: ArrayLike) -> PrincipalComponents:
    """Fit the axes to vectors, [n, d] with n ≥ 1; the largest absolute coordinate on each axis is positive.

    The axes are eigenvectors of the covariance matrix, [d, d], which is small for the vectors of one head.
    """
    points = np.asarray(vectors, np.float64)
    mean = points.mean(axis=0)
    centred = points - mean
    scatter = centred.T @ centred
    variances, directions = np.linalg.eigh(scatter)
    axes = np.zeros((_AXES, points.shape[-1]))
    largest = directions.T[::-1][:_AXES]
    axes[: len(largest)] = largest
    axes *= signs(centred @ axes.T)[:, None]
    total = float(np.trace(scatter))
    explained = np.zeros(_AXES)
    if total > 0:
        explained[: len(largest)] = np.maximum(variances[::-1][:_AXES], 0) / total
    return PrincipalComponents(mean, axes, (float(explained[0]), float(explained[1])))


def signs(points: Doubles) -> NDArray[np.float64]:
    """Return, for each axis of [point, axis], the sign, ±1, that makes its largest absolute value > 0."""
    farthest = np.take_along_axis(points, np.abs(points).argmax(axis=0)[None], axis=0)[0]
    return np.where(farthest < 0, -1.0, 1.0)
