"""The effect of dividing by √d on the scores of random queries and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor
from torch.linalg import matrix_norm

from attnviz.analysis.entropy import entropy
from attnviz.capture.arrays import owned
from attnviz.trace import Floats
from attnviz.transformer.attention import scaled_dot_product_attention


@dataclass(frozen=True, eq=False)
class Softmax:
    """One row of weights, with its entropy and gradient.

    Attributes:
        weights: [key], the weights.
        entropy: Entropy in bits: 0 if one key has all the weight, log₂ of the number of keys if uniform.
        gradient: Frobenius norm of `derivative`; if 0, this row does not change the query in training.
    """

    weights: Floats
    entropy: float
    gradient: float


@dataclass(frozen=True, eq=False)
class Row:
    """The weights of one query on several keys, without and with division by √d.

    Attributes:
        dot_products: [key], q · k.
        plain: Softmax of the dot products.
        scaled: Softmax of the dot products divided by √d.
    """

    dot_products: Floats
    plain: Softmax
    scaled: Softmax


def variances(sizes: Sequence[int], draws: int, seed: int) -> tuple[Floats, Floats]:
    """Sample queries and keys with entries from N(0, 1), and measure the variance of their dot products.

    Args:
        sizes: Values of d, the number of entries.
        draws: Number of sampled pairs for each d.
        seed: Random seed.

    Returns:
        The variances, [size], and the standard errors of these measurements, [size].
    """
    generator = torch.Generator().manual_seed(seed)
    measured = []
    for d in sizes:
        query, key = torch.randn(2, draws, d, generator=generator)
        measured.append((query * key).sum(dim=-1).var())
    errors = torch.tensor([standard_error(d, draws) for d in sizes])
    return owned(torch.stack(measured)), owned(errors)


def standard_error(d: int, draws: int) -> float:
    """Return the standard error of the sample variance of q · k over `draws` pairs.

    A product of two independent N(0, 1) variables has variance 1 and fourth moment 9. A sum of d products
    therefore has σ² = d and μ₄ = 3d² + 6d. The sample variance of n pairs has variance
    (μ₄ − σ⁴ (n − 3)/(n − 1)) / n.
    """
    fourth_moment = 3 * d**2 + 6 * d
    variance = (fourth_moment - d**2 * (draws - 3) / (draws - 1)) / draws
    return sqrt(variance)


def row(d: int, max_d: int, keys: int, seed: int) -> Row:
    """Compute the weights of a random query; a larger d adds entries to the same vectors.

    Args:
        d: Number of entries of each vector.
        max_d: Maximum of d.
        keys: Number of keys.
        seed: Random seed.
    """
    generator = torch.Generator().manual_seed(seed)
    query, *others = torch.randn(1 + keys, max_d, generator=generator)[:, :d]
    return compare(query, torch.stack(others))


def compare(query: Float[Tensor, " d"], keys: Float[Tensor, "key d"]) -> Row:
    """Return the weights of one query by softmax(q · k) and by softmax(q · k / √d)."""
    plain, scaled = (
        Softmax(
            owned(weights),
            float(entropy(owned(weights))),
            float(matrix_norm(derivative(weights, keys, scale))),
        )
        for scale in scales(len(query))
        for weights in scaled_dot_product_attention(query[None], keys, keys, scale=scale).weights
    )
    return Row(owned(keys @ query), plain, scaled)


def scales(d: int) -> tuple[float, float]:
    """Return the factors of the dot products without and with the division by √d."""
    return 1.0, d**-0.5


def jacobian(weights: Float[Tensor, "*row key"]) -> Float[Tensor, "*row key key"]:
    """Return ∂w/∂s = diag(w) − wᵀ w, the derivative of each row w = softmax(s)."""
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def derivative(
    weights: Float[Tensor, "*row key"], keys: Float[Tensor, "*row key d"], scale: float
) -> Float[Tensor, "*row key d"]:
    """Return ∂w/∂q = ∂w/∂s · scale · K, for weights w = softmax(s), s = scale · q Kᵀ."""
    return jacobian(weights) @ keys * scale
