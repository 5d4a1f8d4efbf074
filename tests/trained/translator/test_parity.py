"""Our translator against an independent one of the same weights, built from torch's own layers."""

import math
import random
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attnviz.trained.translator import grammar
from attnviz.trained.translator.translator import Translator, source_of, target_of
from attnviz.trained.translator.variants import VARIANTS, Variant
from attnviz.transformer.encoder_decoder import EncoderDecoder, EncoderDecoderSteps
from attnviz.transformer.layers import DecoderLayer, EncoderLayer
from attnviz.transformer.multi_head import MultiHeadAttention


@dataclass
class Reference:
    """What torch's layers did: each block's weights, [head, query, key], and the logits."""

    logits: Tensor
    encoder: list[Tensor] = field(default_factory=list)
    decoder: list[Tensor] = field(default_factory=list)
    cross: list[Tensor] = field(default_factory=list)


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    projections = (ours.to_query, ours.to_key, ours.to_value)
    theirs.in_proj_weight.data = torch.cat([projection.weight for projection in projections])
    theirs.in_proj_bias.data = torch.cat([projection.bias for projection in projections])
    theirs.out_proj.load_state_dict(ours.to_output.state_dict())


def positions(tokens: int, d_model: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(…), cell by cell."""
    cells = np.zeros((tokens, d_model), dtype=np.float32)
    for position in range(tokens):
        for column in range(d_model):
            angle = position / 10000 ** (column // 2 * 2 / d_model)
            cells[position, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return torch.from_numpy(cells)


def embedded(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids] * math.sqrt(table.shape[1]) + positions(len(ids), table.shape[1])


def weights_of(
    attention: nn.MultiheadAttention, queries: Tensor, keys: Tensor, mask: Tensor | None
) -> Tensor:
    _, weights = attention(queries, keys, keys, attn_mask=mask, need_weights=True, average_attn_weights=False)
    found: Tensor = weights
    return found


def run_theirs(ours: EncoderDecoder, source_ids: Tensor, target_ids: Tensor) -> Reference:
    d_model = ours.source_embedding.table.embedding_dim
    memory = embedded(ours.source_embedding.table.weight, source_ids)
    target = embedded(ours.target_embedding.table.weight, target_ids)
    ahead = torch.triu(torch.ones(len(target_ids), len(target_ids), dtype=torch.bool), diagonal=1)
    reference = Reference(logits=torch.empty(0))
    for layer in cast("list[EncoderLayer]", ours.encoder.layers):
        encoder = nn.TransformerEncoderLayer(
            d_model, layer.attention.n_heads, layer.feed_forward.expand.out_features, dropout=0.0
        )
        copy_attention(encoder.self_attn, layer.attention)
        encoder.linear1.load_state_dict(layer.feed_forward.expand.state_dict())
        encoder.linear2.load_state_dict(layer.feed_forward.contract.state_dict())
        encoder.norm1.load_state_dict(layer.attention_add_norm.norm.state_dict())
        encoder.norm2.load_state_dict(layer.feed_forward_add_norm.norm.state_dict())
        reference.encoder.append(weights_of(encoder.self_attn, memory, memory, None))
        memory = encoder(memory)
    for below in cast("list[DecoderLayer]", ours.decoder.layers):
        decoder = nn.TransformerDecoderLayer(
            d_model, below.attention.n_heads, below.feed_forward.expand.out_features, dropout=0.0
        )
        copy_attention(decoder.self_attn, below.attention)
        copy_attention(decoder.multihead_attn, below.cross_attention)
        decoder.linear1.load_state_dict(below.feed_forward.expand.state_dict())
        decoder.linear2.load_state_dict(below.feed_forward.contract.state_dict())
        decoder.norm1.load_state_dict(below.attention_add_norm.norm.state_dict())
        decoder.norm2.load_state_dict(below.cross_attention_add_norm.norm.state_dict())
        decoder.norm3.load_state_dict(below.feed_forward_add_norm.norm.state_dict())
        reference.decoder.append(weights_of(decoder.self_attn, target, target, ahead))
        read, _ = decoder.self_attn(target, target, target, attn_mask=ahead)
        reference.cross.append(weights_of(decoder.multihead_attn, decoder.norm1(target + read), memory, None))
        target = decoder(target, memory, tgt_mask=ahead)
    reference.logits = target @ ours.target_embedding.table.weight.T
    return reference


def assert_equal(steps: EncoderDecoderSteps, reference: Reference) -> None:
    def close(ours: Tensor, theirs: Tensor) -> None:
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)

    close(steps.logits, reference.logits)
    for ours, theirs in zip(steps.encoder.layers, reference.encoder, strict=True):
        close(ours.attention.attention.weights, theirs)
    for layer, decoder, cross in zip(steps.decoder.layers, reference.decoder, reference.cross, strict=True):
        close(layer.attention.attention.weights, decoder)
        close(layer.cross_attention.attention.weights, cross)


def test_equal_to_torch_layers_with_prime_sizes() -> None:
    torch.manual_seed(3)
    ours = EncoderDecoder(31, 37, 21, 3, 23, encoder_layers=2, decoder_layers=3).eval()
    for parameter in ours.parameters():  # biases and norms as well, which begin as 0 and 1
        parameter.data += 0.1 * torch.randn_like(parameter)
    source_ids, target_ids = torch.randint(31, (13,)), torch.randint(37, (11,))
    with torch.no_grad():
        assert_equal(ours(source_ids, target_ids), run_theirs(ours, source_ids, target_ids))


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=lambda variant: variant.name)
def test_equal_to_torch_layers_with_the_shipped_weights(variant: Variant) -> None:
    translator = Translator.load(variant.file)
    pair = grammar.sentence(random.Random(3))  # noqa: S311 - no secret
    source_ids, target_ids = torch.tensor(source_of(pair.source)), torch.tensor(target_of(pair.target))
    with torch.no_grad():
        reference = run_theirs(translator.model, source_ids, target_ids)
    assert_equal(translator.steps(pair.source, pair.target), reference)
