"""Multi-head attention, checked against worked examples, PyTorch, and general properties."""

from math import log

import pytest
import torch
from torch import Tensor, nn

from attnviz.transformer.masks import causal_mask
from attnviz.transformer.multi_head import MultiHeadAttention, join_heads, split_heads
from tests.transformer.pytorch_weights import copy_attention


def test_a_known_example_with_two_heads() -> None:
    attention = MultiHeadAttention(d_model=2, n_heads=2)
    for linear in (attention.to_query, attention.to_key, attention.to_value, attention.to_output):
        nn.init.zeros_(linear.bias)
    with torch.no_grad():
        attention.to_query.weight.copy_(torch.eye(2))
        attention.to_key.weight.copy_(torch.tensor([[log(3), 0], [0, log(7) / 4]]))
        attention.to_value.weight.copy_(4 * torch.eye(2))
        attention.to_output.weight.copy_(torch.tensor([[0.0, 1], [1, 0]]))
        steps = attention(torch.tensor([[0.0, 2], [1, 0]]), torch.tensor([[0.0, 2], [1, 0]]))
    # Head 1 has the first numbers, 0 and 1: q = (0, 1), k = (0, ln 3), v = (0, 4), scale 1/√1.
    #   scores (0, 0), (0, ln 3) → weights (1/2, 1/2), (1/4, 3/4) → output 2, 3
    # Head 2 has the second numbers, 2 and 0: q = (2, 0), k = (ln 7 / 2, 0), v = (8, 0).
    #   scores (ln 7, 0), (0, 0) → weights (7/8, 1/8), (1/2, 1/2) → output 7, 4
    expected = torch.tensor([[[1 / 2, 1 / 2], [1 / 4, 3 / 4]], [[7 / 8, 1 / 8], [1 / 2, 1 / 2]]])
    torch.testing.assert_close(steps.attention.weights, expected)
    torch.testing.assert_close(steps.concatenated, torch.tensor([[2.0, 7], [3, 4]]))
    # This W_O swaps the two heads' numbers.
    torch.testing.assert_close(steps.output, torch.tensor([[7.0, 2], [4, 3]]))


@pytest.mark.parametrize(("queries", "mask"), [(11, None), (11, causal_mask(11)), (3, None)])
@torch.no_grad()
def test_self_and_cross_attention_equal_pytorch(queries: int, mask: Tensor | None) -> None:
    theirs = nn.MultiheadAttention(embed_dim=5 * 7, num_heads=5, batch_first=True)
    # PyTorch initializes biases with 0, which would hide a missing bias.
    for bias in (theirs.in_proj_bias, theirs.out_proj.bias):
        nn.init.normal_(bias)
    source = torch.randn(11, 35)
    target = source if queries == 11 else torch.randn(queries, 35)
    forbidden = None if mask is None else ~mask
    output, weights = theirs(target, source, source, attn_mask=forbidden, average_attn_weights=False)
    steps = copy_attention(theirs, MultiHeadAttention(35, 5))(target, source, mask)
    torch.testing.assert_close(steps.output, output, atol=1e-6, rtol=0)
    torch.testing.assert_close(steps.attention.weights, weights, atol=1e-6, rtol=0)


@torch.no_grad()
def test_the_projected_outputs_of_the_heads_sum_to_the_output() -> None:
    attention = MultiHeadAttention(35, 5)
    tokens = torch.randn(11, 35)
    steps = attention(tokens, tokens)
    projections = attention.output_projections()
    assert projections.shape == (5, 7, 35)
    shares: Tensor = steps.attention.output @ projections
    torch.testing.assert_close(shares.sum(dim=0) + attention.to_output.bias, steps.output, atol=1e-6, rtol=0)


def test_splitting_and_joining_heads_restores_the_tokens() -> None:
    tokens = torch.arange(12.0).reshape(2, 6)
    heads = split_heads(tokens, 3)
    assert heads.tolist() == [[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [10, 11]]]
    assert torch.equal(join_heads(heads), tokens)
    assert heads.is_contiguous()


@torch.no_grad()
def test_texts_in_a_batch_equal_single_texts() -> None:
    attention = MultiHeadAttention(35, 5)
    texts = torch.randn(3, 11, 35)
    masks = torch.stack([causal_mask(11), causal_mask(11).T, torch.eye(11, dtype=torch.bool)])
    together = attention(texts, texts, masks)
    for index in range(3):
        alone = attention(texts[index], texts[index], masks[index])
        torch.testing.assert_close(together.output[index], alone.output, atol=1e-6, rtol=0)
        torch.testing.assert_close(together.attention.weights[index], alone.attention.weights)


def test_a_size_not_divisible_by_the_heads_is_refused() -> None:
    with pytest.raises(ValueError, match="36 is not divisible by n_heads = 5"):
        MultiHeadAttention(36, 5)
