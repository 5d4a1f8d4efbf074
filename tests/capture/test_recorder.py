"""The recorder: recorded arrays, nested recordings, and refused models."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AttentionMaskInterface

from attnviz.capture.forward import blocks
from attnviz.capture.inspection import (
    AttentionLayer,
    find_output_layer,
    inspect_layers,
    kinds_and_layers,
    linear_layers,
)
from attnviz.capture.network import open_network
from attnviz.capture.recorder import IMPLEMENTATION, recording
from attnviz.errors import AttentionNotRead, ModelNotSupported
from attnviz.models import resolve
from attnviz.trace import Token
from tests.capture.tiny import FolderOf

IDS = torch.tensor([[35, 33, 11, 12, 17, 13, 23]])
TOKENS = tuple(Token(f"t{number}", number, 0, 0, None, special=False) for number in IDS[0].tolist())


def run(network: Any, ids: Tensor = IDS) -> Any:
    with torch.inference_mode():
        return network(ids)


def test_decoder_without_a_mask_is_refused(folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch) -> None:
    mapping = {key: f for key, f in AttentionMaskInterface._global_mapping.items() if key != IMPLEMENTATION}
    monkeypatch.setattr(AttentionMaskInterface, "_global_mapping", mapping)
    network, entry = open_network(folder_of("gpt2")), resolve.entry(str(folder_of("gpt2")))
    with pytest.raises(AttentionNotRead, match="do not reproduce the weights"):
        inspect_layers(network, {"input_ids": IDS}, entry)


def test_unknown_argument_that_changes_scores_is_refused(folder_of: FolderOf) -> None:
    with pytest.raises(ModelNotSupported, match="LlamaAttention changes its scores with tilt, which attnviz"):
        open_network(folder_of("llama"))(IDS, tilt=0.5)


def test_training_mode_and_double_precision_are_refused(folder_of: FolderOf) -> None:
    with pytest.raises(ModelNotSupported, match="training mode"):
        run(open_network(folder_of("bert")).train())
    with pytest.raises(ModelNotSupported, match="float64"):
        run(open_network(folder_of("bert")).double())


def test_mask_with_finite_negative_values_is_refused(folder_of: FolderOf) -> None:
    network = open_network(folder_of("bert"))
    inputs = {"input_ids": IDS, "attention_mask": torch.full((1, 1, 7, 7), -0.5)}
    with recording() as records, torch.inference_mode():
        network(**inputs)
    places = [
        AttentionLayer(record.module, kind, layer, 3, None)
        for record, (kind, layer) in zip(records, kinds_and_layers(network, records), strict=True)
    ]
    with pytest.raises(ModelNotSupported, match="adds a bias to its scores in the mask"):
        blocks(network, places, inputs, TOKENS)


def test_model_that_runs_differently_than_when_checked_is_refused(folder_of: FolderOf) -> None:
    network = open_network(folder_of("bert"))
    with pytest.raises(ModelNotSupported, match="ran 2 attention modules, but 0 when it was loaded"):
        blocks(network, (), {"input_ids": IDS}, TOKENS)


def test_model_with_more_positions_than_tokens_is_refused(folder_of: FolderOf) -> None:
    network: Any = open_network(folder_of("bert"))
    layers = [
        AttentionLayer(layer.attention.self, "encoder", n, 3, None)
        for n, layer in enumerate(network.base_model.encoder.layer)
    ]
    with pytest.raises(ModelNotSupported, match="computed 7 × 7 weights for 6 × 6 tokens"):
        blocks(network, layers, {"input_ids": IDS}, TOKENS[:-1])


def test_nothing_is_recorded_outside_a_recording(folder_of: FolderOf) -> None:
    for family in ("bert", "bloom", "gpt_neo"):
        network = open_network(folder_of(family))
        with recording() as records:
            network(IDS, output_attentions=True)
        network(IDS, output_attentions=True)
        assert len(records) == 2


def test_nested_recordings_are_independent(folder_of: FolderOf) -> None:
    network = open_network(folder_of("bert"))
    with recording() as outer:
        with recording() as inner:
            run(network)
        run(network, IDS[:, :2])
    assert [record.query.shape[2] for record in inner] == [7, 7]
    assert [record.query.shape[2] for record in outer] == [2, 2]


def test_projection_is_the_layer_applied_to_the_head_outputs(folder_of: FolderOf) -> None:
    network = open_network(folder_of("bert"))
    with recording() as records, linear_layers(network) as calls:
        run(network)
    for record in records:
        mixer, inputs = find_output_layer(record, calls)
        assert mixer is not None
        assert inputs is not None
        projection = AttentionLayer(record.module, "encoder", 0, 3, mixer).projection
        assert projection is not None
        assert projection.shape == (3, 5, 15)
        assert find_output_layer(record, [(layer, other + 1) for layer, other in calls]) == (None, None)
