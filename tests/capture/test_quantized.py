"""Models with weights that torchao has quantized: traced as they compute.

Needs torchao, which every import of transformers would import too: CI installs it for these tests alone.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, TorchAoConfig

import attnviz
from attnviz.models import resolve
from tests.capture.by_transformers import captured, own_tokenizer
from tests.capture.tiny import SENTENCE, FolderOf

quantization = pytest.importorskip("torchao.quantization")


@pytest.mark.parametrize("way", ["Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig"])
def test_the_weights_of_a_quantized_model_are_those_of_eager_to_the_bit(
    folder_of: FolderOf, tmp_path: Path, way: str
) -> None:
    settings = TorchAoConfig(getattr(quantization, way)())
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        folder_of("llama"), quantization_config=settings, dtype="float32"
    )
    loaded.save_pretrained(tmp_path)
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
    assert 0 < np.abs(trace.stack() - whole).max() < 0.2
    assert "int8" in resolve.entry(str(tmp_path)).stored
