"""Unsupported model objects are refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest
import transformers
from PIL import Image
from torch import nn

import attnviz
from attnviz.errors import ModelNotSupported
from tests.capture.tiny import SENTENCE, FolderOf

hf: Any = transformers

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 48,
}
TEXT: dict[str, Any] = {**SIZES, "vocab_size": 61}
VISION: dict[str, Any] = {**SIZES, "image_size": 16, "patch_size": 8}
PROCESSOR = hf.ViTImageProcessorPil(size={"height": 16, "width": 16})
BLANK = Image.new("RGB", (16, 16))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hf.DeiTModel(hf.DeiTConfig(**VISION)), "does not read text, and .* the family “deit”"),
        (
            lambda: hf.ViltModel(hf.ViltConfig(**TEXT, image_size=16, patch_size=8)),
            "does not read text, and .* the family “vilt”",
        ),
        (lambda: hf.ConvBertModel(hf.ConvBertConfig(**TEXT, embedding_size=32)), "is a convolution"),
        (
            lambda: hf.MambaModel(hf.MambaConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1)),
            "no attention weights.$",
        ),
    ],
)
def test_unsupported_models_are_refused_with_the_reason(make: Any, message: str) -> None:
    model: Any = make().eval()
    with pytest.raises(ModelNotSupported, match=message):
        attnviz.trace([1, 7, 9], model)
    with pytest.raises(ModelNotSupported, match=message):
        attnviz.look(BLANK, model, processor=PROCESSOR)


def test_class_or_other_module_is_refused() -> None:
    model: Any
    for model in (hf.BertModel, nn.Sequential(nn.Identity())):
        with pytest.raises(TypeError, match="or a model object of transformers, not"):
            attnviz.trace(SENTENCE, model)


def test_offloaded_model_must_be_loaded_again(folder_of: FolderOf, tmp_path: Any) -> None:
    folder = folder_of("gpt2")
    places = {"wte": "cpu", "wpe": "cpu", "h.0": "disk", "h.1": "cpu", "ln_f": "cpu"}
    offloaded = hf.AutoModel.from_pretrained(folder, device_map=places, offload_folder=tmp_path)
    with pytest.raises(
        ModelNotSupported, match=r"not in memory: .* with from_pretrained\(…\), without device_map"
    ):
        attnviz.trace([1, 7, 9], offloaded)
    assert attnviz.trace([1, 7, 9], hf.AutoModel.from_pretrained(folder)).blocks
