"""Rotary positions: queries and keys are rotated by their positions, so that scores depend on distance."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

BASE = 10_000.0
"""Base of the frequencies in Su et al. 2021."""


def rotary_frequencies(d_head: int, base: float = BASE) -> Float[Tensor, " pair"]:
    """Return the rotation of each pair of numbers per position, in radians: θᵢ = base^(−2i / d_head).

    With the default base, they are the frequencies of `sinusoidal`; the first pair has the highest frequency.

    Args:
        d_head: Size of a query or key; adjacent numbers form a pair.
        base: A larger base gives lower frequencies.

    Raises:
        ValueError: d_head is odd.
    """
    if d_head % 2:
        raise ValueError(f"d_head must be even, not {d_head}.")
    even = torch.arange(0, d_head, 2, dtype=torch.float64)
    return base ** (-even / d_head)


def rotate(
    vectors: Float[Tensor, "*head token d_head"],
    positions: Int[Tensor, " token"],
    base: float = BASE,
) -> Float[Tensor, "*head token d_head"]:
    """Rotate pair i of the vector at position m by the angle m θᵢ (Su et al. 2021, equations 15 and 34).

    x'₂ᵢ   = x₂ᵢ cos mθᵢ − x₂ᵢ₊₁ sin mθᵢ
    x'₂ᵢ₊₁ = x₂ᵢ sin mθᵢ + x₂ᵢ₊₁ cos mθᵢ

    Rotations preserve norms. The dot product of a query at position m and a key at position n depends on the
    positions only through n − m.

    Args:
        vectors: Queries or keys after projection; values are not rotated.
        positions: Position of each token.
        base: as for `rotary_frequencies`.

    Raises:
        ValueError: d_head is odd.
    """
    # In float32, the angles of distant positions would be wrong in the fourth decimal.
    angles = positions.to(torch.float64).unsqueeze(-1) * rotary_frequencies(vectors.shape[-1], base)
    cosine, sine = angles.cos().to(vectors.dtype), angles.sin().to(vectors.dtype)
    first, second = vectors[..., 0::2], vectors[..., 1::2]
    rotated = torch.stack((first * cosine - second * sine, first * sine + second * cosine), dim=-1)
    return rotated.flatten(-2)
