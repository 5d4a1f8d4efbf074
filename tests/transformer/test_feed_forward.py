"""The feed-forward network, with known examples."""

import torch
from torch import nn

from attnviz.transformer.feed_forward import FeedForward


@torch.no_grad()
def test_a_known_example() -> None:
    network = FeedForward(d_model=2, d_feed_forward=3)
    network.expand.weight.copy_(torch.tensor([[1.0, 0], [0, 1], [1, 1]]))
    network.expand.bias.copy_(torch.tensor([0.0, 0, 4]))
    network.contract.weight.copy_(torch.tensor([[1.0, 1, 1], [0, 5, 2]]))
    network.contract.bias.copy_(torch.tensor([0.0, 1]))
    # x = (1, −2): x W₁ + b₁ = (1, −2, −1 + 4) = (1, −2, 3); max(0, ·) = (1, 0, 3);
    # times W₂ plus b₂: (1 + 0 + 3, 0 + 0 + 6 + 1) = (4, 7).
    steps = network(torch.tensor([[1.0, -2]]))
    assert steps.expanded.tolist() == [[1, -2, 3]]
    assert steps.activated.tolist() == [[1, 0, 3]]
    assert steps.output.tolist() == [[4, 7]]


@torch.no_grad()
def test_the_activation_can_be_changed() -> None:
    steps = FeedForward(5, 7, nn.GELU())(torch.randn(3, 5))
    # GELU(x) = x · Φ(x); Φ is the standard normal distribution function (Hendrycks & Gimpel 2016).
    below = (1 + torch.erf(steps.expanded / 2**0.5)) / 2
    torch.testing.assert_close(steps.activated, steps.expanded * below)
