"""The encoder against PyTorch's, layer by layer, and the laws it must obey."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from attnviz.transformer.encoder import Encoder, EncoderLayer
from attnviz.transformer.masks import causal_mask, window_mask


def random_pytorch_layer() -> nn.TransformerEncoderLayer:
    layer = nn.TransformerEncoderLayer(35, 5, 13, dropout=0.0, batch_first=True)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.3)
    return layer


def copy_of(theirs: nn.TransformerEncoderLayer) -> EncoderLayer:
    """Our layer with their weights."""
    ours = EncoderLayer(35, 5, 13)
    attention = ours.attention
    with torch.no_grad():
        for index, linear in enumerate((attention.to_query, attention.to_key, attention.to_value)):
            linear.weight.copy_(theirs.self_attn.in_proj_weight.chunk(3)[index])
            linear.bias.copy_(theirs.self_attn.in_proj_bias.chunk(3)[index])
    attention.to_output.load_state_dict(theirs.self_attn.out_proj.state_dict())
    ours.attention_add_norm.norm.load_state_dict(theirs.norm1.state_dict())
    ours.feed_forward.expand.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.contract.load_state_dict(theirs.linear2.state_dict())
    ours.feed_forward_add_norm.norm.load_state_dict(theirs.norm2.state_dict())
    return ours


@pytest.mark.parametrize("mask", [None, causal_mask(11), window_mask(11, 2, 3)])
@torch.no_grad()
def test_a_layer_equals_pytorch(mask: Tensor | None) -> None:
    theirs = random_pytorch_layer()
    tokens = torch.randn(11, 35)
    # In training mode PyTorch takes the plain path, as written in the paper.
    expected = theirs.train()(tokens, src_mask=None if mask is None else ~mask)
    torch.testing.assert_close(copy_of(theirs)(tokens, mask).output, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_a_stack_equals_pytorch_layer_by_layer() -> None:
    theirs = [random_pytorch_layer().train() for _ in range(3)]
    steps = Encoder(copy_of(layer) for layer in theirs)(torch.randn(11, 35))
    assert len(steps.layers) == 3
    assert len(steps.hidden_states) == 4
    for layer, before, after in zip(theirs, steps.hidden_states, steps.hidden_states[1:], strict=False):
        torch.testing.assert_close(after, layer(before), atol=1e-5, rtol=0)
    assert steps.output is steps.hidden_states[-1]


@torch.no_grad()
def test_the_steps_add_up() -> None:
    tokens = torch.randn(11, 35)
    steps = EncoderLayer(35, 5, 13)(tokens)
    assert torch.equal(steps.attention_add_norm.sum, tokens + steps.attention.output)
    attended = steps.attention_add_norm.output
    assert torch.equal(steps.feed_forward_add_norm.sum, attended + steps.feed_forward.output)
    assert steps.output is steps.feed_forward_add_norm.output


def two_layers(dropout: float = 0.0) -> Encoder:
    torch.manual_seed(1)
    return Encoder(EncoderLayer(35, 5, 13, dropout=dropout) for _ in range(2)).eval()


def test_shapes_are_the_annotated_ones(check_shapes: Callable[[NamedTuple], None]) -> None:
    steps = two_layers()(torch.randn(11, 35))
    check_shapes(steps)
    assert [state.shape for state in steps.hidden_states] == [(11, 35)] * 3


@given(order=st.permutations(range(11)))
@torch.no_grad()
def test_without_positions_shuffled_tokens_give_shuffled_outputs(order: list[int]) -> None:
    encoder = two_layers()
    tokens = torch.randn(11, 35)
    torch.testing.assert_close(
        encoder(tokens[order]).output, encoder(tokens).output[order], atol=1e-5, rtol=0
    )


@given(changed=st.integers(0, 12), tokens=st.just(13), size=st.sampled_from([1e-3, 1.0, 1e3]))
@torch.no_grad()
def test_causal_a_change_reaches_nothing_before_it(changed: int, tokens: int, size: float) -> None:
    encoder = two_layers()
    before = torch.randn(tokens, 35)
    after = before.clone()
    after[changed] += size * torch.randn(35)
    outputs = [encoder(text, causal_mask(tokens)).output for text in (before, after)]
    assert torch.equal(outputs[0][:changed], outputs[1][:changed])
    assert not torch.equal(outputs[0][changed], outputs[1][changed])


@torch.no_grad()
def test_without_a_mask_a_change_reaches_everything() -> None:
    encoder = two_layers()
    before = torch.randn(13, 35)
    after = before.clone()
    after[-1] += 1.0
    assert ((encoder(before).output != encoder(after).output).any(dim=-1)).all()


@torch.no_grad()
def test_several_texts_at_once_are_each_text_alone() -> None:
    encoder = two_layers()
    texts = torch.randn(3, 11, 35)
    together = encoder(texts, causal_mask(11)).output
    for index in range(3):
        alone = encoder(texts[index], causal_mask(11)).output
        torch.testing.assert_close(together[index], alone, atol=1e-6, rtol=0)


@torch.no_grad()
def test_dropout_is_for_training_only() -> None:
    tokens = torch.randn(11, 35)
    plain, dropping = two_layers(), two_layers(dropout=0.5)
    assert torch.equal(plain(tokens).output, dropping(tokens).output)
    assert not torch.equal(plain(tokens).output, dropping.train()(tokens).output)
