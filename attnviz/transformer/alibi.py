"""ALiBi: a bias that lowers each score in proportion to the distance, with a different slope per head."""

import torch
from jaxtyping import Float
from torch import Tensor


def alibi_slopes(n_heads: int) -> Float[Tensor, " head"]:
    """Return each head's slope m: 2^(−8h / H) for h = 1 … H (Press et al. 2022, §3).

    If H is not a power of two, the first P heads (P is the next lower power) have the slopes for P heads;
    the other heads have every second slope for 2P heads, starting with the first, as in the authors' code.

    Args:
        n_heads: H, at least 1.

    Raises:
        ValueError: n_heads < 1.
    """
    if n_heads < 1:
        raise ValueError(f"n_heads must be at least 1, not {n_heads}.")
    power = 2 ** (n_heads.bit_length() - 1)
    between = _geometric(2 * power)[0::2]
    return torch.cat((_geometric(power), between[: n_heads - power]))


def alibi_bias(slopes: Float[Tensor, " head"], tokens: int) -> Float[Tensor, "head {tokens} {tokens}"]:
    """Return the bias of the scores, [head, query i, key j]: −m · |i − j| (Press et al. 2022, §3).

    The paper describes a decoder: with a causal mask, j ≤ i and |i − j| = i − j.

    Args:
        slopes: Slope m of each head.
        tokens: Number of queries and keys.
    """
    position = torch.arange(tokens)
    distance = (position.unsqueeze(1) - position.unsqueeze(0)).abs()
    return -slopes.reshape(-1, 1, 1) * distance


def _geometric(n_heads: int) -> Float[Tensor, " head"]:
    """Return 2^(−8h / H): a geometric sequence with first term and ratio 2^(−8 / H)."""
    head = torch.arange(1, n_heads + 1, dtype=torch.float64)
    return (2 ** (-8 * head / n_heads)).to(torch.float32)
