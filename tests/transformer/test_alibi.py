"""ALiBi: slopes and biases, compared with the paper and with BLOOM."""

import pytest
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor

from attnviz.transformer.alibi import alibi_bias, alibi_slopes
from attnviz.transformer.masks import causal_mask


def test_eight_heads_have_the_published_slopes() -> None:
    # In the paper: ½, ¼, and so on down to 1/256.
    assert alibi_slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


@pytest.mark.parametrize("heads", [1, 2, 3, 5, 8, 11, 12, 16, 40, 71, 112])
def test_slopes_equal_bloom(heads: int) -> None:
    theirs = build_alibi_tensor(torch.ones(1, 2, dtype=torch.long), heads, torch.float32)
    torch.testing.assert_close(alibi_slopes(heads), theirs[:, 0, 1] - theirs[:, 0, 0])


def test_weights_equal_bloom() -> None:
    # BLOOM adds m · key, ALiBi −m · (query − key): within a row the two differ by a constant.
    heads, tokens, d_head = 3, 11, 5
    query, key = torch.randn(2, heads, tokens, d_head)
    scores = query @ key.transpose(-2, -1)
    forbidden = ~causal_mask(tokens)
    theirs = build_alibi_tensor(torch.ones(1, tokens, dtype=torch.long), heads, torch.float32)
    ours = alibi_bias(alibi_slopes(heads), tokens)
    expected, weights = (
        (scores + bias).masked_fill(forbidden, float("-inf")).softmax(dim=-1) for bias in (theirs, ours)
    )
    torch.testing.assert_close(weights, expected)


def test_a_known_bias() -> None:
    bias = alibi_bias(torch.tensor([0.5, 2]), 3)
    assert bias[0].tolist() == [[0, -0.5, -1], [-0.5, 0, -0.5], [-1, -0.5, 0]]
    assert bias[1].tolist() == [[0, -2, -4], [-2, 0, -2], [-4, -2, 0]]
