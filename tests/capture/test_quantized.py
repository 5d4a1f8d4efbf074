"""Models with quantized weights.

These tests need torchao, bitsandbytes and compressed-tensors. CI installs them only for these tests, because
transformers imports torchao wherever it is installed.
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
from tests.capture.reference import cached_trace, reference_tokenizer
from tests.capture.tiny import SENTENCE, FolderOf


def save_with_torchao(folder: Path, to: Path, method: str) -> None:
    quantization = pytest.importorskip("torchao.quantization")
    settings = TorchAoConfig(getattr(quantization, method)())
    loaded: Any = AutoModelForCausalLM.from_pretrained(folder, quantization_config=settings, dtype="float32")
    loaded.save_pretrained(to)


def save_with_bitsandbytes(folder: Path, to: Path, method: str) -> None:
    pytest.importorskip("bitsandbytes")
    config_class: Any = BitsAndBytesConfig  # its constructor is untyped
    settings = config_class(**{method: True})
    loaded: Any = AutoModelForCausalLM.from_pretrained(folder, quantization_config=settings, dtype="float32")
    loaded.save_pretrained(to)


def save_with_compressed_tensors(folder: Path, to: Path, method: str) -> None:
    """Save the weights as packed integers with one scale per row, as llm-compressor does."""
    quantization = pytest.importorskip("compressed_tensors.quantization")
    compressors = pytest.importorskip("compressed_tensors.compressors")
    bits = int(method)
    weights = {"num_bits": bits, "type": "int", "symmetric": True, "strategy": "channel"}
    groups: dict[str, Any] = {
        "config_groups": {"all": {"targets": ["Linear"], "weights": weights}},
        "ignore": ["lm_head"],
    }
    status = quantization.QuantizationStatus
    loaded: Any = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
    initial = quantization.QuantizationConfig(**groups, quantization_status=status.INITIALIZED)
    quantization.apply_quantization_config(loaded, initial)
    for module in loaded.modules():
        if hasattr(module, "weight_scale"):
            largest = module.weight.detach().abs().amax(dim=1, keepdim=True)
            module.weight_scale.data = largest / (2 ** (bits - 1) - 1)
    final = quantization.QuantizationConfig(
        **groups, quantization_status=status.COMPRESSED, format="pack-quantized"
    )
    compressor = compressors.ModelCompressor(quantization_config=final)
    compressor.compress_model(loaded)
    loaded.save_pretrained(to)
    compressor.update_config(to)


@pytest.mark.parametrize(
    ("save", "method"),
    [
        (save_with_torchao, "Int8WeightOnlyConfig"),
        (save_with_torchao, "Int8DynamicActivationInt8WeightConfig"),
        (save_with_bitsandbytes, "load_in_8bit"),
        (save_with_compressed_tensors, "8"),
        (save_with_compressed_tensors, "4"),
    ],
)
def test_weights_of_a_quantized_model_equal_eager_bit_for_bit(
    folder_of: FolderOf, tmp_path: Path, save: Callable[[Path, Path, str], None], method: str
) -> None:
    save(folder_of("llama"), tmp_path, method)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder_of("llama") / name, tmp_path)
    eager = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager")
    ids = reference_tokenizer(tmp_path)(SENTENCE, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        expected = eager(ids, output_attentions=True).attentions
    for trace in (attnviz.trace(SENTENCE, tmp_path), attnviz.trace(ids, eager)):
        for block, weights in zip(trace.blocks, expected, strict=True):
            assert np.array_equal(block.weights, weights[0])
    unquantized = cached_trace(folder_of("llama")).stack()
    assert np.abs(trace.stack() - unquantized).max() > 0
    assert "int8" in resolve.entry(str(tmp_path)).stored or save is not save_with_torchao
