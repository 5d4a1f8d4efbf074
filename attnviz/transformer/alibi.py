"""ALiBi: positions as a bias that lowers each score by the distance, at a rate of each head's own."""

import torch
from jaxtyping import Float
from torch import Tensor


def alibi_slopes(n_heads: int) -> Float[Tensor, " head"]:
    """Each head's slope m: 2^(−8h / H) for h = 1 … H (Press et al. 2022, §3).

    Where H is no power of two, as in the authors' code: the first heads take the slopes of the next lower
    power P, and the rest take every second slope of 2P, from the first on.

    Args:
        n_heads: H, 1 or more.

    Raises:
        ValueError: there is no head.
    """
    if n_heads < 1:
        raise ValueError(f"{n_heads} heads have no slopes; there must be one at least.")
    power = 2 ** (n_heads.bit_length() - 1)
    between = _geometric(2 * power)[0::2]
    return torch.cat((_geometric(power), between[: n_heads - power]))


def alibi_bias(slopes: Float[Tensor, " head"], tokens: int) -> Float[Tensor, "head {tokens} {tokens}"]:
    """What is added to the scores, [head, query i, key j]: −m · |i − j| (Press et al. 2022, §3).

    As published, for a decoder: a causal mask leaves only the keys j ≤ i, where |i − j| is i − j.

    Args:
        slopes: one m a head.
        tokens: how many queries and keys.
    """
    position = torch.arange(tokens)
    distance = (position.unsqueeze(1) - position.unsqueeze(0)).abs()
    return -slopes.reshape(-1, 1, 1) * distance


def _geometric(n_heads: int) -> Float[Tensor, " head"]:
    """2^(−8h / H): it begins with 2^(−8 / H), and each slope is the former times that."""
    head = torch.arange(1, n_heads + 1, dtype=torch.float64)
    return (2 ** (-8 * head / n_heads)).to(torch.float32)
