"""Lazy traces: fields are converted when read, and a trace can outlive its model."""

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
from tests.capture.reference import reference_model, reference_tokenizer
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


def unread_fields(block: attnviz.Block) -> dict[str, type]:
    """Return the types of the fields that are not NumPy arrays yet."""
    fields = {name: value for name, value in vars(block).items() if hasattr(value, "shape")}
    return {name: type(value) for name, value in fields.items() if not isinstance(value, np.ndarray)}


def test_only_the_field_that_is_read_is_converted(network: nn.Module) -> None:
    block = attnviz.trace(IDS, network).blocks[1]
    recorded = {"query", "key", "value", "weights", "mask", "projection"}
    assert unread_fields(block).keys() == recorded
    assert block.shape == (4, 6, 6)
    assert unread_fields(block).keys() == recorded
    weights = block.weights
    assert block.weights is weights
    assert weights.dtype == np.dtype(np.float32)
    assert not weights.flags.writeable
    assert unread_fields(block).keys() == recorded - {"weights"}


def test_trace_outlives_its_model_and_keeps_only_w_o() -> None:
    network = untrained("llama", **SIZES)
    trace = attnviz.trace(IDS, network)
    mixer = network.layers[2].self_attn.o_proj
    expected, weight = mixer.weight.detach().T.clone(), weakref.ref(mixer.weight)
    mlp = weakref.ref(network.layers[0].mlp)
    del network, mixer
    gc.collect()
    assert mlp() is None
    assert weight() is None  # the parameter is freed, but not its memory
    projection = trace.blocks[2].projection
    assert projection is not None
    assert np.array_equal(projection.reshape(24, 24), expected)


def test_w_o_shares_the_models_memory_and_is_refused_after_training(network: Any) -> None:
    trace = attnviz.trace(IDS, network)
    weight: Tensor = network.layers[0].self_attn.o_proj.weight
    projection = trace.blocks[0].projection
    assert projection is not None
    assert np.shares_memory(projection, weight.detach().numpy())
    head_projection = attnviz.trace(IDS, network, heads=3).blocks[1].projection
    assert head_projection is not None
    assert np.array_equal(head_projection[0], network.layers[1].self_attn.o_proj.weight.detach().T[18:])
    with torch.no_grad():
        network.layers[1].self_attn.o_proj.weight.mul_(2)
    with pytest.raises(InvalidTrace, match="trained since"):
        _ = trace.blocks[1].projection


def test_object_is_rechecked_only_after_changes(folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = Mock(wraps=inspection._compare_all)
    monkeypatch.setattr(inspection, "_compare_all", compared)
    network, tokenizer = reference_model(folder_of("bert")), reference_tokenizer(folder_of("bert"))
    expected = attnviz.trace(SENTENCE, network, tokenizer=tokenizer).stack()
    for change in (
        lambda: None,
        lambda: nn.init.zeros_(next(network.parameters())),  # different values, same structure
    ):
        change()
        attnviz.trace(SENTENCE, network, tokenizer=tokenizer)
        assert compared.call_count == 1
    network.register_forward_hook(lambda *_: None)
    attnviz.trace(SENTENCE, network, tokenizer=tokenizer)
    network.config.layer_norm_eps = 0.1
    attnviz.trace(SENTENCE, network, tokenizer=tokenizer)
    assert compared.call_count == 3
    other = reference_model(folder_of("bert"))
    assert np.array_equal(attnviz.trace(SENTENCE, other, tokenizer=tokenizer).stack(), expected)
    reference = weakref.ref(other)
    del other
    gc.collect()
    assert reference() is None


def test_numbers_that_are_not_finite_are_refused_when_read(network: Any) -> None:
    attnviz.trace(IDS, network)
    nn.init.constant_(network.layers[1].self_attn.v_proj.weight, float("nan"))
    trace = attnviz.trace(IDS, network)
    assert np.isfinite(trace.blocks[1].weights).all()
    for block, name in ((trace.blocks[1], "value"), (trace.blocks[2], "weights")):
        with pytest.raises(InvalidTrace, match=f"{name} contains numbers that are not finite"):
            getattr(block, name)


@pytest.mark.parametrize("copy_trace", [copy.deepcopy, lambda trace: pickle.loads(pickle.dumps(trace))])  # noqa: S301
def test_copy_has_only_arrays(network: nn.Module, copy_trace: Any) -> None:
    trace = attnviz.trace(IDS, network)
    block, copied = trace.blocks[0], copy_trace(trace).blocks[0]
    assert unread_fields(copied) == {}
    assert np.array_equal(copied.key, block.key)
    assert copied.shape == block.shape
