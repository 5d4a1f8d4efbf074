"""The decoder-only model: its layers equal PyTorch's, and no token attends to later tokens."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attnviz.transformer.decoder_only import DecoderOnly, PreNormLayer
from attnviz.transformer.masks import causal_mask
from attnviz.transformer.multi_head import MultiHeadAttention, split_heads
from attnviz.transformer.rotary import rotate
from tests.transformer.pytorch_weights import copy_attention

TOKENS, D_MODEL, HEADS, D_FEED_FORWARD = 11, 30, 5, 13


@torch.no_grad()
def test_a_layer_equals_pytorch() -> None:
    theirs = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, D_FEED_FORWARD, dropout=0.0, batch_first=True, norm_first=True
    )
    for parameter in theirs.train().parameters():
        nn.init.normal_(parameter, std=0.3)
    ours = PreNormLayer(D_MODEL, HEADS, D_FEED_FORWARD)
    copy_attention(theirs.self_attn, ours.attention)
    ours.attention.rotary = False  # PyTorch has no rotary positions
    assert ours.feed_forward is not None
    assert ours.feed_forward_norm is not None
    ours.attention_norm.load_state_dict(theirs.norm1.state_dict())
    ours.feed_forward_norm.load_state_dict(theirs.norm2.state_dict())
    ours.feed_forward.expand.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.contract.load_state_dict(theirs.linear2.state_dict())
    tokens, mask = torch.randn(TOKENS, D_MODEL), causal_mask(TOKENS)
    expected = theirs(tokens, src_mask=~mask)
    torch.testing.assert_close(ours(tokens, mask).output, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_rotary_attention_equals_pytorch_on_rotated_queries_and_keys() -> None:
    attention = MultiHeadAttention(D_MODEL, HEADS, rotary=True)
    tokens, places = torch.randn(TOKENS, D_MODEL), torch.arange(TOKENS)
    steps = attention(tokens, tokens, causal_mask(TOKENS))
    query, key = (
        rotate(split_heads(projection(tokens), HEADS), places)
        for projection in (attention.to_query, attention.to_key)
    )
    value = split_heads(attention.to_value(tokens), HEADS)
    expected = scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(steps.attention.output, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(steps.query @ steps.key.mT, steps.attention.dot_products)


@pytest.mark.parametrize("d_feed_forward", [0, D_FEED_FORWARD])
@torch.no_grad()
def test_a_changed_token_does_not_change_earlier_outputs(d_feed_forward: int) -> None:
    model = DecoderOnly(17, D_MODEL, HEADS, d_feed_forward, layers=2)
    ids = torch.randint(17, (3, TOKENS))
    changed = ids.clone()
    changed[:, 6] = (ids[:, 6] + 1) % 17
    before, after = model(ids).logits, model(changed).logits
    assert before.shape == (3, TOKENS, 17)
    torch.testing.assert_close(before[:, :6], after[:, :6], atol=1e-6, rtol=0)
    assert not torch.allclose(before[:, 6:], after[:, 6:], atol=1e-3)


@torch.no_grad()
def test_the_steps_are_consistent() -> None:
    model = DecoderOnly(17, D_MODEL, HEADS, D_FEED_FORWARD, layers=2)
    steps = model(torch.randint(17, (TOKENS,)))
    first, second = steps.layers
    assert torch.equal(first.attended, steps.words + first.attention.output)
    assert torch.equal(first.output, first.attended + first.feed_forward.output)
    assert torch.equal(second.attended, first.output + second.attention.output)
    assert torch.equal(steps.output, model.norm(second.output))
    assert torch.equal(steps.logits, steps.output @ model.table.weight.T)
    assert [name for name, _ in DecoderOnly(17, D_MODEL, HEADS, 0, 1).named_modules() if "feed" in name] == []


@pytest.mark.parametrize("d_feed_forward", [0, D_FEED_FORWARD])
@pytest.mark.parametrize("parts", [[1] * TOKENS, [7, 1, 1, 2], [5, 6]])
@torch.no_grad()
def test_cached_keys_and_values_give_the_same_results(d_feed_forward: int, parts: list[int]) -> None:
    # In double precision, so that rounding does not depend on the machine.
    model = DecoderOnly(17, D_MODEL, HEADS, d_feed_forward, layers=2).double()
    ids = torch.randint(17, (3, TOKENS))
    at_once, before, steps_of_parts = model(ids), None, []
    for part in torch.split(ids, parts, dim=-1):
        before = model(part, before)
        steps_of_parts.append(before)
    torch.testing.assert_close(
        torch.cat([steps.logits for steps in steps_of_parts], dim=-2), at_once.logits, atol=1e-12, rtol=0
    )
    for last, all_layers in zip(steps_of_parts[-1].layers, at_once.layers, strict=True):
        torch.testing.assert_close(last.attention.key, all_layers.attention.key, atol=1e-12, rtol=0)
        torch.testing.assert_close(last.attention.value, all_layers.attention.value, atol=1e-12, rtol=0)
