"""The decoder against PyTorch's, layer by layer, and the laws it must obey."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import relu

from attnviz.errors import InvalidTrace
from attnviz.transformer.decoder import Decoder, DecoderLayer
from attnviz.transformer.feed_forward import Activation
from attnviz.transformer.masks import causal_mask, no_mask, padding_mask
from attnviz.transformer.multi_head import MultiHeadAttention


def random_pytorch_layer(activation: Activation = relu, epsilon: float = 1e-5) -> nn.TransformerDecoderLayer:
    layer = nn.TransformerDecoderLayer(35, 5, 13, 0.0, activation, epsilon, batch_first=True)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.3)
    return layer


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    with torch.no_grad():
        for index, linear in enumerate((ours.to_query, ours.to_key, ours.to_value)):
            linear.weight.copy_(theirs.in_proj_weight.chunk(3)[index])
            linear.bias.copy_(theirs.in_proj_bias.chunk(3)[index])
    ours.to_output.load_state_dict(theirs.out_proj.state_dict())


def copy_of(theirs: nn.TransformerDecoderLayer) -> DecoderLayer:
    """Our layer with their weights."""
    ours = DecoderLayer(35, 5, 13, theirs.activation, theirs.norm1.eps)
    copy_attention(theirs.self_attn, ours.attention)
    copy_attention(theirs.multihead_attn, ours.cross_attention)
    ours.attention_add_norm.norm.load_state_dict(theirs.norm1.state_dict())
    ours.cross_attention_add_norm.norm.load_state_dict(theirs.norm2.state_dict())
    ours.feed_forward.expand.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.contract.load_state_dict(theirs.linear2.state_dict())
    ours.feed_forward_add_norm.norm.load_state_dict(theirs.norm3.state_dict())
    return ours


@pytest.mark.parametrize("padded", [False, True])
@torch.no_grad()
def test_a_layer_equals_pytorch(padded: bool) -> None:
    theirs = random_pytorch_layer().train()
    target, source = torch.randn(7, 35), torch.randn(11, 35)
    cross_mask = padding_mask(torch.arange(11) < 8, queries=7) if padded else None
    expected = theirs(
        target, source, tgt_mask=~causal_mask(7), memory_mask=None if cross_mask is None else ~cross_mask
    )
    steps = copy_of(theirs)(target, source, cross_mask=cross_mask)
    torch.testing.assert_close(steps.output, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_another_activation_and_epsilon_can_be_asked_for() -> None:
    theirs = random_pytorch_layer(nn.GELU(), epsilon=0.5).train()
    target, source = torch.randn(7, 35), torch.randn(11, 35)
    expected = theirs(target, source, tgt_mask=~causal_mask(7))
    torch.testing.assert_close(copy_of(theirs)(target, source).output, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_a_stack_equals_pytorch_layer_by_layer() -> None:
    theirs = [random_pytorch_layer().train() for _ in range(3)]
    source = torch.randn(11, 35)
    steps = Decoder(copy_of(layer) for layer in theirs)(torch.randn(7, 35), source)
    assert len(steps.layers) == 3
    assert len(steps.hidden_states) == 4
    for layer, before, after in zip(theirs, steps.hidden_states, steps.hidden_states[1:], strict=False):
        expected = layer(before, source, tgt_mask=~causal_mask(7))
        torch.testing.assert_close(after, expected, atol=1e-5, rtol=0)
    assert steps.output is steps.hidden_states[-1]


@torch.no_grad()
def test_the_steps_add_up() -> None:
    target, source = torch.randn(7, 35), torch.randn(11, 35)
    steps = DecoderLayer(35, 5, 13)(target, source)
    assert torch.equal(steps.attention_add_norm.sum, target + steps.attention.output)
    attended = steps.attention_add_norm.output
    assert torch.equal(steps.cross_attention_add_norm.sum, attended + steps.cross_attention.output)
    crossed = steps.cross_attention_add_norm.output
    assert torch.equal(steps.feed_forward_add_norm.sum, crossed + steps.feed_forward.output)
    assert steps.output is steps.feed_forward_add_norm.output


def test_shapes_are_the_annotated_ones(check_shapes: Callable[[NamedTuple], None]) -> None:
    steps = Decoder([DecoderLayer(35, 5, 13)])(torch.randn(7, 35), torch.randn(11, 35))
    check_shapes(steps)
    assert steps.layers[0].attention.attention.weights.shape == (5, 7, 7)
    assert steps.layers[0].cross_attention.attention.weights.shape == (5, 7, 11)


@given(changed=st.integers(0, 6))
@torch.no_grad()
def test_a_change_reaches_nothing_before_it(changed: int) -> None:
    torch.manual_seed(1)
    decoder = Decoder(DecoderLayer(35, 5, 13) for _ in range(2))
    source, before = torch.randn(11, 35), torch.randn(7, 35)
    after = before.clone()
    after[changed] += 1.0
    outputs = [decoder(target, source).output for target in (before, after)]
    assert torch.equal(outputs[0][:changed], outputs[1][:changed])
    assert not torch.equal(outputs[0][changed], outputs[1][changed])


@torch.no_grad()
def test_looking_ahead_can_be_allowed() -> None:
    steps = DecoderLayer(35, 5, 13)(torch.randn(7, 35), torch.randn(11, 35), mask=no_mask(7, 7))
    assert (steps.attention.attention.weights > 0).all()


def test_a_cross_mask_without_anything_to_see_is_refused() -> None:
    nothing = torch.zeros(7, 11, dtype=torch.bool)
    with pytest.raises(InvalidTrace, match="look nowhere"):
        DecoderLayer(35, 5, 13)(torch.randn(7, 35), torch.randn(11, 35), cross_mask=nothing)
