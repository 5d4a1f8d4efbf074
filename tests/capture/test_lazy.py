"""Traces keep what was recorded, convert what is read, and outlive their model."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import attnviz
from attnviz.capture import inspection
from attnviz.errors import InvalidTrace
from tests.capture.by_transformers import own_model, own_tokenizer
from tests.capture.tiny import SENTENCE, FolderOf, untrained

IDS = [5, 3, 8, 1, 9, 2]
SIZES: dict[str, Any] = {
    "hidden_size": 24,
    "intermediate_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 30,
    "max_position_embeddings": 64,
}


@pytest.fixture
def network() -> Any:
    return untrained("llama", **SIZES)


def held(block: attnviz.Block) -> dict[str, type]:
    """The types of the fields that are not arrays yet."""
    fields = {name: value for name, value in vars(block).items() if hasattr(value, "shape")}
    return {name: type(value) for name, value in fields.items() if not isinstance(value, np.ndarray)}


def test_a_field_is_converted_when_it_is_read_and_no_other_one(network: nn.Module) -> None:
    block = attnviz.trace(IDS, network).blocks[1]
    recorded = {"query", "key", "value", "weights", "mask", "projection"}
    assert held(block).keys() == recorded
    assert block.shape == (4, 6, 6)
    assert held(block).keys() == recorded
    weights = block.weights
    assert block.weights is weights
    assert weights.dtype == np.dtype(np.float32)
    assert not weights.flags.writeable
    assert held(block).keys() == recorded - {"weights"}


def test_a_trace_outlives_its_model_and_keeps_w_o_alone() -> None:
    network = untrained("llama", **SIZES)
    trace = attnviz.trace(IDS, network)
    output_layer = network.layers[2].self_attn.o_proj
    expected, weight = output_layer.weight.detach().T.clone(), weakref.ref(output_layer.weight)
    gone = weakref.ref(network.layers[0].mlp)
    del network, output_layer
    gc.collect()
    assert gone() is None
    assert weight() is None  # the parameter, and not its memory
    projection = trace.blocks[2].projection
    assert projection is not None
    assert np.array_equal(projection.reshape(24, 24), expected)


def test_w_o_is_the_models_own_memory_and_refused_once_it_is_trained(network: Any) -> None:
    trace = attnviz.trace(IDS, network)
    weight: Tensor = network.layers[0].self_attn.o_proj.weight
    projection = trace.blocks[0].projection
    assert projection is not None
    assert np.shares_memory(projection, weight.detach().numpy())
    of_head = attnviz.trace(IDS, network, heads=3).blocks[1].projection
    assert of_head is not None
    assert np.array_equal(of_head[0], network.layers[1].self_attn.o_proj.weight.detach().T[18:])
    with torch.no_grad():
        network.layers[1].self_attn.o_proj.weight.mul_(2)
    with pytest.raises(InvalidTrace, match="trained since"):
        _ = trace.blocks[1].projection


def test_an_object_is_checked_once_while_it_is_built_the_same(
    folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = Mock(wraps=inspection._compare_all)
    monkeypatch.setattr(inspection, "_compare_all", compared)
    network, reads = own_model(folder_of("bert")), own_tokenizer(folder_of("bert"))
    expected = attnviz.trace(SENTENCE, network, tokenizer=reads).stack()
    for change in (
        lambda: None,
        lambda: nn.init.zeros_(next(network.parameters())),  # other numbers, built the same
    ):
        change()
        attnviz.trace(SENTENCE, network, tokenizer=reads)
        assert compared.call_count == 1
    network.register_forward_hook(lambda *_: None)
    attnviz.trace(SENTENCE, network, tokenizer=reads)
    network.config.layer_norm_eps = 0.1
    attnviz.trace(SENTENCE, network, tokenizer=reads)
    assert compared.call_count == 3
    again = own_model(folder_of("bert"))
    assert np.array_equal(attnviz.trace(SENTENCE, again, tokenizer=reads).stack(), expected)
    known = weakref.ref(again)
    del again
    gc.collect()
    assert known() is None


def test_what_is_not_finite_is_refused_when_it_is_read(network: Any) -> None:
    attnviz.trace(IDS, network)
    nn.init.constant_(network.layers[1].self_attn.v_proj.weight, float("nan"))
    trace = attnviz.trace(IDS, network)
    assert np.isfinite(trace.blocks[1].weights).all()
    for block, name in ((trace.blocks[1], "value"), (trace.blocks[2], "weights")):
        with pytest.raises(InvalidTrace, match=f"{name} has numbers that are not finite"):
            getattr(block, name)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda trace: pickle.loads(pickle.dumps(trace))])  # noqa: S301
def test_a_copy_has_arrays_alone(network: nn.Module, copied: Any) -> None:
    trace = attnviz.trace(IDS, network)
    block, again = trace.blocks[0], copied(trace).blocks[0]
    assert held(again) == {}
    assert np.array_equal(again.key, block.key)
    assert again.shape == block.shape
