"""Models with quantized weights: traced as they compute.

Needs torchao, which every import of transformers would import too, bitsandbytes and compressed-tensors: CI
installs them for these tests alone.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, TorchAoConfig

import attnviz
from attnviz.models import resolve
from tests.capture.by_transformers import captured, own_tokenizer
from tests.capture.tiny import SENTENCE, FolderOf


def by_torchao(folder: Path, to: Path, way: str) -> None:
    quantization = pytest.importorskip("torchao.quantization")
    settings = TorchAoConfig(getattr(quantization, way)())
    loaded: Any = AutoModelForCausalLM.from_pretrained(folder, quantization_config=settings, dtype="float32")
    loaded.save_pretrained(to)


def by_bitsandbytes(folder: Path, to: Path, way: str) -> None:
    pytest.importorskip("bitsandbytes")
    made: Any = BitsAndBytesConfig  # which leaves its constructor untyped
    settings = made(**{way: True})
    loaded: Any = AutoModelForCausalLM.from_pretrained(folder, quantization_config=settings, dtype="float32")
    loaded.save_pretrained(to)


def by_compressed_tensors(folder: Path, to: Path, way: str) -> None:
    """As llm-compressor saves them: packed integers, with a scale for each row."""
    quantization = pytest.importorskip("compressed_tensors.quantization")
    compressors = pytest.importorskip("compressed_tensors.compressors")
    bits = int(way)
    weights = {"num_bits": bits, "type": "int", "symmetric": True, "strategy": "channel"}
    groups: dict[str, Any] = {
        "config_groups": {"all": {"targets": ["Linear"], "weights": weights}},
        "ignore": ["lm_head"],
    }
    status = quantization.QuantizationStatus
    loaded: Any = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    begun = quantization.QuantizationConfig(**groups, quantization_status=status.INITIALIZED)
    quantization.apply_quantization_config(loaded, begun)
    for module in loaded.modules():
        if hasattr(module, "weight_scale"):
            largest = module.weight.detach().abs().amax(dim=1, keepdim=True)
            module.weight_scale.data = largest / (2 ** (bits - 1) - 1)
    made = quantization.QuantizationConfig(
        **groups, quantization_status=status.COMPRESSED, format="pack-quantized"
    )
    compressor = compressors.ModelCompressor(quantization_config=made)
    compressor.compress_model(loaded)
    loaded.save_pretrained(to)
    compressor.update_config(to)


@pytest.mark.parametrize(
    ("save", "way"),
    [
        (by_torchao, "Int8WeightOnlyConfig"),
        (by_torchao, "Int8DynamicActivationInt8WeightConfig"),
        (by_bitsandbytes, "load_in_8bit"),
        (by_compressed_tensors, "8"),
        (by_compressed_tensors, "4"),
    ],
)
def test_the_weights_of_a_quantized_model_are_those_of_eager_to_the_bit(
    folder_of: FolderOf, tmp_path: Path, save: Callable[[Path, Path, str], None], way: str
) -> None:
    save(folder_of("llama"), tmp_path, way)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder_of("llama") / name, tmp_path)
    eager = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager")
    ids = own_tokenizer(tmp_path)(SENTENCE, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        expected = eager(ids, output_attentions=True).attentions
    for trace in (attnviz.trace(SENTENCE, tmp_path), attnviz.trace(ids, eager)):
        for block, weights in zip(trace.blocks, expected, strict=True):
            assert np.array_equal(block.weights, weights[0])
    whole = captured(folder_of("llama")).stack()
    assert np.abs(trace.stack() - whole).max() > 0
    assert "int8" in resolve.entry(str(tmp_path)).stored or save is not by_torchao
