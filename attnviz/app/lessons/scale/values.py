"""Why divide by √d? Random queries and keys, with the scale and without it."""

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
    """One row of weights, and how far it is from having decided.

    Attributes:
        weights: [key].
        entropy: in bits; 0: one key gets everything; log₂ of the number of keys: all get the same.
        gradient: the size (Frobenius norm) of `derivative`; 0: the query learns nothing from this row.
    """

    weights: Floats
    entropy: float
    gradient: float


@dataclass(frozen=True, eq=False)
class Row:
    """One query against several keys.

    Attributes:
        dot_products: [key], q · k.
        plain: the softmax of these.
        scaled: the softmax of these divided by √d.
    """

    dot_products: Floats
    plain: Softmax
    scaled: Softmax


def variances(sizes: Sequence[int], draws: int, seed: int) -> tuple[Floats, Floats]:
    """Draw queries and keys with entries from N(0, 1), and measure how their dot products vary.

    Args:
        sizes: d, how many entries they have; each in turn.
        draws: how many pairs of a query and a key are drawn for each d.
        seed: the same one draws the same numbers.

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
    """How far from d a variance of q · k lies, typically, when it is measured on a number of draws.

    A product of two independent N(0, 1) has variance 1 and fourth moment 9. A sum of d of them therefore has
    σ² = d and μ₄ = 3d² + 6d. A variance measured on n draws has itself the variance
    (μ₄ − σ⁴ (n − 3)/(n − 1)) / n.
    """
    fourth_moment = 3 * d**2 + 6 * d
    variance = (fourth_moment - d**2 * (draws - 3) / (draws - 1)) / draws
    return sqrt(variance)


def row(d: int, longest: int, keys: int, seed: int) -> Row:
    """A random query against random keys; a larger d adds entries to the same vectors.

    Args:
        d: how many entries they have.
        longest: the most that d can be.
        keys: how many keys there are.
        seed: the same one draws the same numbers.
    """
    generator = torch.Generator().manual_seed(seed)
    query, *others = torch.randn(1 + keys, longest, generator=generator)[:, :d]
    return compare(query, torch.stack(others))


def compare(query: Float[Tensor, " d"], keys: Float[Tensor, "key d"]) -> Row:
    """The weights of one query, once by softmax(q · k) and once by softmax(q · k / √d)."""
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
    """What the dot products are multiplied by: without the division by √d, and with it."""
    return 1.0, d**-0.5


def jacobian(weights: Float[Tensor, "*row key"]) -> Float[Tensor, "*row key key"]:
    """∂w/∂s = diag(w) − wᵀ w, for each row w = softmax(s): how its weights move with its scores."""
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def derivative(
    weights: Float[Tensor, "*row key"], keys: Float[Tensor, "*row key d"], scale: float
) -> Float[Tensor, "*row key d"]:
    """∂w/∂q = ∂w/∂s · scale · K, where s = scale · q Kᵀ: how a row's weights move with its query."""
    return jacobian(weights) @ keys * scale
