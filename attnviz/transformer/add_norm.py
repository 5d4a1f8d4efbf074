"""Add & Norm: the sub-layer's output is added to its input, and the sum is normalized."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn


class AddNormSteps(NamedTuple):
    """The sum, and the normalized sum."""

    sum: Float[Tensor, "*batch token d_model"]
    output: Float[Tensor, "*batch token d_model"]


class AddNorm(nn.Module):
    """LayerNorm(x + Sublayer(x)), the post-norm of the paper (Vaswani et al. 2017, §3.1).

    LayerNorm(x) = (x − μ) / √(σ² + ε) ⊙ γ + β, with each token's own mean μ and variance σ² (Ba et al. 2016).

    Args:
        d_model: Size of a token's vector, and of γ and β.
        epsilon: ε, which avoids division by 0.
        dropout: Dropout rate of Sublayer(x) in training (§5.4).
    """

    def __init__(self, d_model: int, epsilon: float = 1e-5, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model, epsilon)

    def forward(
        self,
        tokens: Float[Tensor, "*batch token d_model"],
        update: Float[Tensor, "*batch token d_model"],
    ) -> AddNormSteps:
        """Add the sub-layer's output `update` to its input `tokens`, and normalize."""
        total = tokens + self.dropout(update)
        return AddNormSteps(total, self.norm(total))
