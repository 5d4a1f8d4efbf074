"""The feed-forward network: two linear layers with an activation between them, for each token separately."""

from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import relu

Activation = Callable[[Tensor], Tensor]


class FeedForwardSteps(NamedTuple):
    """The hidden layer before and after its activation, and the output."""

    expanded: Float[Tensor, "*batch token d_feed_forward"]
    activated: Float[Tensor, "*batch token d_feed_forward"]
    output: Float[Tensor, "*batch token d_model"]


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W₁ + b₁) W₂ + b₂ (Vaswani et al. 2017, equation 2).

    Args:
        d_model: Size of a token's vector.
        d_feed_forward: Size of the hidden layer, 4 × d_model in the paper.
        activation: max(0, ·) in the paper; BERT uses GELU.
    """

    def __init__(self, d_model: int, d_feed_forward: int, activation: Activation = relu) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, d_feed_forward)
        self.activation = activation
        self.contract = nn.Linear(d_feed_forward, d_model)

    def forward(self, tokens: Float[Tensor, "*batch token d_model"]) -> FeedForwardSteps:
        """Apply the network to each token separately."""
        expanded = self.expand(tokens)
        activated = self.activation(expanded)
        return FeedForwardSteps(expanded, activated, self.contract(activated))
