"""The layers of the encoder and the decoder, compared with PyTorch's layers."""

from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from attnviz.transformer.layers import Decoder, DecoderLayer, Encoder, EncoderLayer
from attnviz.transformer.masks import causal_mask, padding_mask, window_mask
from tests.transformer.pytorch_weights import copy_attention

torch.manual_seed(1)

TheirLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


def random_weights(theirs: TheirLayer) -> None:
    """Set random parameters, and training mode, in which PyTorch does not use its fused kernel."""
    for parameter in theirs.train().parameters():
        nn.init.normal_(parameter, std=0.3)


def their_encoder_layer() -> nn.TransformerEncoderLayer:
    layer = nn.TransformerEncoderLayer(35, 5, 13, dropout=0.0, batch_first=True)
    random_weights(layer)
    return layer


def their_decoder_layer() -> nn.TransformerDecoderLayer:
    layer = nn.TransformerDecoderLayer(35, 5, 13, 0.0, batch_first=True)
    random_weights(layer)
    return layer


def copy_shared_parts(theirs: TheirLayer, ours: EncoderLayer | DecoderLayer) -> None:
    copy_attention(theirs.self_attn, ours.attention)
    ours.attention_add_norm.norm.load_state_dict(theirs.norm1.state_dict())
    ours.feed_forward.expand.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.contract.load_state_dict(theirs.linear2.state_dict())


def encoder_copy(theirs: nn.TransformerEncoderLayer) -> EncoderLayer:
    """Return our layer with PyTorch's weights."""
    ours = EncoderLayer(35, 5, 13)
    copy_shared_parts(theirs, ours)
    ours.feed_forward_add_norm.norm.load_state_dict(theirs.norm2.state_dict())
    return ours


def decoder_copy(theirs: nn.TransformerDecoderLayer) -> DecoderLayer:
    """Return our layer with PyTorch's weights."""
    ours = DecoderLayer(35, 5, 13)
    copy_shared_parts(theirs, ours)
    copy_attention(theirs.multihead_attn, ours.cross_attention)
    ours.cross_attention_add_norm.norm.load_state_dict(theirs.norm2.state_dict())
    ours.feed_forward_add_norm.norm.load_state_dict(theirs.norm3.state_dict())
    return ours


@pytest.mark.parametrize("mask", [None, causal_mask(11), window_mask(11, 2, 3)])
@torch.no_grad()
def test_an_encoder_layer_equals_pytorch(mask: Tensor | None) -> None:
    theirs, tokens = their_encoder_layer(), torch.randn(11, 35)
    expected = theirs(tokens, src_mask=None if mask is None else ~mask)
    torch.testing.assert_close(encoder_copy(theirs)(tokens, mask).output, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("padded", [False, True])
@torch.no_grad()
def test_a_decoder_layer_equals_pytorch(padded: bool) -> None:
    theirs = their_decoder_layer()
    target, source = torch.randn(7, 35), torch.randn(11, 35)
    cross_mask = padding_mask(torch.arange(11) < 8, queries=7) if padded else None
    expected = theirs(
        target, source, tgt_mask=~causal_mask(7), memory_mask=None if cross_mask is None else ~cross_mask
    )
    steps = decoder_copy(theirs)(target, source, cross_mask=cross_mask)
    torch.testing.assert_close(steps.output, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_stacks_equal_pytorch_layer_by_layer() -> None:
    encoders = [their_encoder_layer() for _ in range(3)]
    decoders = [their_decoder_layer() for _ in range(3)]
    tokens, source = torch.randn(7, 35), torch.randn(11, 35)
    encoded = Encoder(map(encoder_copy, encoders))(tokens)
    decoded = Decoder(map(decoder_copy, decoders))(tokens, source)
    for steps in (encoded, decoded):
        assert (len(steps.layers), len(steps.hidden_states)) == (3, 4)
        assert steps.hidden_states[0] is tokens
        assert steps.output is steps.hidden_states[-1]
    for encoder, (before, after) in zip(encoders, pairwise(encoded.hidden_states), strict=True):
        torch.testing.assert_close(after, encoder(before), atol=1e-5, rtol=0)
    for decoder, (before, after) in zip(decoders, pairwise(decoded.hidden_states), strict=True):
        expected = decoder(before, source, tgt_mask=~causal_mask(7))
        torch.testing.assert_close(after, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_the_steps_are_consistent() -> None:
    target, source = torch.randn(7, 35), torch.randn(11, 35)
    encoded, decoded = EncoderLayer(35, 5, 13)(target), DecoderLayer(35, 5, 13)(target, source)
    for steps in (encoded, decoded):
        assert torch.equal(steps.attention_add_norm.sum, target + steps.attention.output)
        assert steps.output is steps.feed_forward_add_norm.output
    attended, crossed = decoded.attention_add_norm.output, decoded.cross_attention_add_norm.output
    assert torch.equal(decoded.cross_attention_add_norm.sum, attended + decoded.cross_attention.output)
    assert torch.equal(decoded.feed_forward_add_norm.sum, crossed + decoded.feed_forward.output)
    attended = encoded.attention_add_norm.output
    assert torch.equal(encoded.feed_forward_add_norm.sum, attended + encoded.feed_forward.output)
