"""Encoders with local attention: weights are on the correct keys, and the mask is the attention pattern."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, LongformerForSequenceClassification

import attnviz
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.trace import Block, Mask, Trace
from tests.capture.tiny import untrained

LONGFORMER: dict[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 12,
    "attention_window": [4, 8],
    "initializer_range": 0.5,
    "pad_token_id": 1,
}
LONGT5: dict[str, Any] = {
    "vocab_size": 60,
    "d_model": 24,
    "d_kv": 8,
    "d_ff": 12,
    "num_heads": 3,
    "num_layers": 2,
    "local_radius": 3,
    "global_block_size": 4,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
}
IDS = [*range(2, 19)]


@contextmanager
def values_and_outputs(network: Any, value: str, output: str) -> Iterator[tuple[list[Any], list[Any]]]:
    """Record outputs of encoder modules named *`value`, and inputs of encoder modules named *`output`."""
    values: list[Any] = []
    outputs: list[Any] = []
    for name, module in network.named_modules():
        if "decoder" not in name and name.endswith(value):
            module.register_forward_hook(lambda _, __, found: values.append(found.detach()))
        elif "decoder" not in name and name.endswith(output):
            module.register_forward_pre_hook(lambda _, inputs: outputs.append(inputs[0].detach()))
    yield values, outputs


def local_mask(block: Block, radius: int) -> Mask:
    places = np.arange(len(block.query_tokens))
    found: Mask = np.abs(places[:, None] - places) <= radius
    return found


def traced(network: Any) -> Trace:
    with warnings.catch_warnings(action="ignore"):  # the warning that only weights are recorded
        return attnviz.trace(IDS, network)


@pytest.mark.parametrize("has_global", [False, True])
def test_weights_of_longformer(has_global: bool) -> None:
    """The weights times the values equal the heads' outputs, and weights outside the pattern are 0."""
    torch.manual_seed(4)
    network: Any = untrained("longformer", **LONGFORMER)
    if has_global:  # the first token attends to all tokens, and all tokens to the first
        network = LongformerForSequenceClassification(network.config)
        network.eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    trace = traced(network)
    with values_and_outputs(network, "self.value", "attention.output.dense") as (values, outputs):
        network(torch.tensor([IDS]))
    for number, block in enumerate(trace.blocks):
        pattern = local_mask(block, (2, 4)[number])
        if has_global:
            pattern[0], pattern[:, 0] = True, True
        assert np.array_equal(block.mask, pattern)
        assert np.array_equal((block.weights > 0).all(axis=0), pattern)
        np.testing.assert_allclose(block.weights.sum(axis=-1), 1, atol=1e-5)
        value = values[number][: len(IDS), 0].unflatten(-1, (3, 8)).transpose(0, 1).numpy()
        found = np.concatenate([*(block.weights @ value)], axis=-1)
        first = 1 if has_global else 0  # a global token uses separate values
        np.testing.assert_allclose(found[first:], outputs[number][0, first : len(IDS)], atol=1e-5)
    assert any("shown as masked" in note for note in trace.notes)


@pytest.mark.parametrize("kind", ["local", "transient-global"])
def test_weights_of_longt5(kind: str) -> None:
    torch.manual_seed(4)
    network = untrained("longt5", AutoModel, encoder_attention_type=kind, **LONGT5).get_encoder()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    trace = traced(network)
    with values_and_outputs(network, "Attention.v", "Attention.o") as (values, outputs):
        network(torch.tensor([IDS]))
    for number, block in enumerate(trace.blocks):
        assert np.array_equal(block.mask, local_mask(block, 3))
        assert np.array_equal((block.weights > 0).all(axis=0), block.mask)
        assert (block.sinks is not None) == (kind == "transient-global")
        if kind == "local":
            np.testing.assert_allclose(block.weights.sum(axis=-1), 1, atol=1e-5)
            value = values[number][0, : len(IDS)].unflatten(-1, (3, 8)).transpose(0, 1).numpy()
            found = np.concatenate([*(block.weights @ value)], axis=-1)
            np.testing.assert_allclose(found, outputs[number][0, : len(IDS)], atol=1e-5)
        else:
            assert block.weights.sum(axis=-1).max() < 0.99
    assert any("summaries of blocks" in note for note in trace.notes) == (kind == "transient-global")


BIG_BIRD: dict[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 24,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 12,
    "block_size": 4,
    "num_random_blocks": 2,
    "max_position_embeddings": 200,
    "pad_token_id": 0,
}


def test_weights_of_big_bird_for_long_and_short_texts() -> None:
    torch.manual_seed(4)
    network = untrained("big_bird", AutoModelForMaskedLM, attention_type="block_sparse", **BIG_BIRD)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    ids = [2 + number % 57 for number in range(46)]
    with torch.inference_mode():
        returned = network(torch.tensor([ids]), output_attentions=True)
    with values_and_outputs(network, "self.value", "attention.output.dense") as (values, outputs):
        network(torch.tensor([ids]))
    block = np.arange(46) // 4
    has_global = (block == 0) | (block == 11)
    pattern = (abs(block[:, None] - block) <= 1) | has_global | has_global[:, None]
    with warnings.catch_warnings(action="ignore"), attnviz.borrowed(network) as name:
        model = loading.load(name)
        for _ in range(2):  # a short text must not switch the model to full attention
            trace, short = (model.trace(ModelInput("", ids=tuple(ids[:count]))) for count in (46, 36))
            assert all(each.mask.all() for each in short.blocks)
            for number, each in enumerate(trace.blocks):
                assert np.array_equal(each.mask, pattern)
                assert np.array_equal((each.weights > 0).all(axis=0), pattern)
                np.testing.assert_allclose(each.weights.sum(axis=-1), 1, atol=1e-5)
                expected = returned.attentions[number][0, :, :46, :46].numpy().copy()
                expected[:, 4:44, :4] *= 3
                assert np.array_equal(each.weights, expected)
                value = values[number][0, :46].unflatten(-1, (3, 8)).transpose(0, 1).numpy()
                found = np.concatenate([*(each.weights @ value)], axis=-1)
                np.testing.assert_allclose(found, outputs[number][0, :46], atol=1e-5)
        assert any("random block" in note for note in trace.notes)
    assert network.base_model.attention_type == "block_sparse"
