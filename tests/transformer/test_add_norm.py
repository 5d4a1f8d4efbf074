"""Add & Norm, with known examples."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.transformer.add_norm import AddNorm


@torch.no_grad()
def test_a_known_example() -> None:
    add_norm = AddNorm(d_model=2, epsilon=0.0)
    add_norm.norm.weight.copy_(torch.tensor([2.0, 3]))
    add_norm.norm.bias.copy_(torch.tensor([10.0, 20]))
    # (0, 1) + (2, 3) = (2, 4): mean 3, variance 1, so (−1, 1) · (2, 3) + (10, 20) = (8, 23).
    # (1, 5) + (8, −4) = (9, 1): mean 5, variance 16, so (4, −4) / 4 · (2, 3) + (10, 20) = (12, 17).
    steps = add_norm(torch.tensor([[0.0, 1], [1, 5]]), torch.tensor([[2.0, 3], [8, -4]]))
    assert steps.sum.tolist() == [[2, 4], [9, 1]]
    torch.testing.assert_close(steps.output, torch.tensor([[8.0, 23], [12, 17]]))


@torch.no_grad()
def test_epsilon_is_added_to_the_variance() -> None:
    # (2, 4) has variance 1; with ε = 3 the centred numbers are divided by √4 = 2.
    steps = AddNorm(d_model=2, epsilon=3.0)(torch.tensor([[2.0, 4]]), torch.zeros(1, 2))
    torch.testing.assert_close(steps.output, torch.tensor([[-0.5, 0.5]]))


@given(seed=st.integers(0, 2**31), size=st.sampled_from([1.0, 1e3]))
@torch.no_grad()
def test_every_output_has_mean_0_and_variance_1(seed: int, size: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    tokens, update = torch.randn(2, 5, 31, generator=generator) * size
    output = AddNorm(31)(tokens, update).output
    torch.testing.assert_close(output.mean(dim=-1), torch.zeros(5), atol=1e-5, rtol=0)
    torch.testing.assert_close(output.var(dim=-1, correction=0), torch.ones(5), atol=1e-3, rtol=0)


def test_dropout_drops_the_update_but_never_the_token() -> None:
    add_norm = AddNorm(d_model=7, dropout=1.0)
    tokens, update = torch.randn(2, 5, 7)
    assert torch.equal(add_norm.train()(tokens, update).sum, tokens)
    assert torch.equal(add_norm.eval()(tokens, update).sum, tokens + update)
