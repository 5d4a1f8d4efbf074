"""Rotary positions: queries and keys are rotated by their positions, so that scores depend on distance."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

BASE = 10_000.0
"""The paper's."""


def rotary_frequencies(d_head: int, base: float = BASE) -> Float[Tensor, " pair"]:
    """How far each pair of numbers is turned by one step, in radians: θᵢ = base^(−2i / d_head).

    They are the frequencies of `sinusoidal`: the first pair turns fastest.

    Args:
        d_head: how many numbers a query or key has; two make a pair.
        base: the larger, the slower the last pairs turn.

    Raises:
        ValueError: d_head is odd, so one number would have no partner.
    """
    if d_head % 2:
        raise ValueError(f"{d_head} numbers cannot be turned in pairs: the last one has no partner.")
    even = torch.arange(0, d_head, 2, dtype=torch.float64)
    return base ** (-even / d_head)


def rotate(
    vectors: Float[Tensor, "*head token d_head"],
    positions: Int[Tensor, " token"],
    base: float = BASE,
) -> Float[Tensor, "*head token d_head"]:
    """Turn pair i of the vector at position m by the angle m θᵢ (Su et al. 2021, equations 15 and 34).

    x'₂ᵢ   = x₂ᵢ cos mθᵢ − x₂ᵢ₊₁ sin mθᵢ
    x'₂ᵢ₊₁ = x₂ᵢ sin mθᵢ + x₂ᵢ₊₁ cos mθᵢ

    A turn keeps every length. Of two turned vectors, q at m and k at n, the dot product is that of q with k
    turned by n − m: it depends on the distance and not on the place.

    Args:
        vectors: queries or keys, after their projection; values stay as they are.
        positions: the place of each token.
        base: as for `rotary_frequencies`.

    Raises:
        ValueError: d_head is odd.
    """
    # In float32 the angles of far positions would be off in the fourth decimal.
    angles = positions.to(torch.float64).unsqueeze(-1) * rotary_frequencies(vectors.shape[-1], base)
    cosine, sine = angles.cos().to(vectors.dtype), angles.sin().to(vectors.dtype)
    first, second = vectors[..., 0::2], vectors[..., 1::2]
    turned = torch.stack((first * cosine - second * sine, first * sine + second * cosine), dim=-1)
    return turned.flatten(-2)
