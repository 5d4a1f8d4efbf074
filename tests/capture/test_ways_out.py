"""What is refused names the way out, and the way out works."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from torch import nn

import attnviz
from attnviz.errors import ModelNotSupported
from tests.capture.by_transformers import own_model, own_tokenizer
from tests.capture.tiny import SENTENCE, FolderOf

hf: Any = transformers

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 48,
}
TEXT: dict[str, Any] = {**SIZES, "vocab_size": 61}
GROUPED: dict[str, Any] = {**TEXT, "num_key_value_heads": 2, "head_dim": 8}
PICTURE: dict[str, Any] = {**SIZES, "image_size": 16, "patch_size": 8}
TURNED = {"rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10_000.0}}


def llava() -> Any:
    text, seen = hf.LlamaConfig(**GROUPED), hf.CLIPVisionConfig(**PICTURE)
    return hf.LlavaForConditionalGeneration(hf.LlavaConfig(text_config=text, vision_config=seen))


def qwen_vl() -> Any:
    seen = {"depth": 1, "embed_dim": 16, "hidden_size": 32, "num_heads": 2, "patch_size": 4}
    config = hf.Qwen2VLConfig(text_config={**GROUPED, **TURNED}, vision_config=seen)
    return hf.Qwen2VLForConditionalGeneration(config)


def blip() -> Any:
    config = hf.Blip2Config(
        vision_config=PICTURE,
        qformer_config={**TEXT, "encoder_hidden_size": 32},
        text_config=hf.OPTConfig(vocab_size=61, hidden_size=32, num_attention_heads=4, ffn_dim=8),
    )
    return hf.Blip2ForConditionalGeneration(config)


def decoder() -> Any:
    return hf.BertLMHeadModel(hf.BertConfig(**TEXT, is_decoder=True, add_cross_attention=True))


def joined() -> Any:
    return hf.EncoderDecoderModel(encoder=hf.BertModel(hf.BertConfig(**TEXT)), decoder=decoder())


def captions() -> Any:
    return hf.VisionEncoderDecoderModel(encoder=hf.ViTModel(hf.ViTConfig(**PICTURE)), decoder=decoder())


PROCESSOR = hf.ViTImageProcessorPil(size={"height": 16, "width": 16})
NOTHING = Image.new("RGB", (16, 16))


def call(message: str, model: Any) -> attnviz.Trace:
    """Do what a refusal says."""
    found = re.search(
        r"Give a part of it: attnviz\.(trace|look)\(\w+, model([\w.]+), (tokenizer|processor)=…", message
    )
    assert found, message
    part = model
    for name in found[2].split(".")[1:]:
        part = getattr(part, name)
    if found[1] == "look":
        return attnviz.look(NOTHING, part, processor=PROCESSOR)
    return attnviz.trace([1, 7, 9], part)


@pytest.mark.parametrize(
    ("make", "part", "picture"),
    [
        (llava, "trace(text, model.model.language_model,", False),
        (llava, "look(picture, model.model.vision_tower,", True),
        (qwen_vl, "trace(text, model.model.language_model,", False),
        (blip, "trace(text, model.language_model,", False),
        (joined, "trace(text, model.encoder,", False),
        (captions, "look(picture, model.encoder,", False),
        (captions, "look(picture, model.encoder,", True),
    ],
)
def test_the_part_that_can_be_shown_is_named(make: Any, part: str, picture: bool) -> None:
    model = make().eval()
    asked: Any = attnviz.look if picture else attnviz.trace
    more = {"processor": PROCESSOR} if picture else {}
    given: Any = NOTHING if picture else [1, 7, 9]
    with pytest.raises(ModelNotSupported) as refused:
        asked(given, model, **more)
    assert part in str(refused.value)
    assert call(str(refused.value), model).blocks


def convbert() -> Any:
    return hf.ConvBertModel(hf.ConvBertConfig(**TEXT, embedding_size=32))


def test_weights_that_transformers_returns_are_named() -> None:
    model = convbert().eval()
    found = r"is a convolution.*attnviz\.Trace\.from_weights\(model\(\*\*inputs"
    with pytest.raises(ModelNotSupported, match=found):
        attnviz.trace([1, 7, 9], model)
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        returned = model(torch.tensor([[1, 7, 9]]), output_attentions=True).attentions
    trace = attnviz.Trace.from_weights(returned, ["a", "b", "c"])
    assert np.array_equal(trace.stack(), torch.cat(returned).numpy())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hf.DeiTModel(hf.DeiTConfig(**PICTURE)), "sees pictures, and .* the family “deit”"),
        (lambda: hf.BeitModel(hf.BeitConfig(**PICTURE)), "sees pictures, and .* the family “beit”"),
        (
            lambda: hf.SwinModel(
                hf.SwinConfig(image_size=16, patch_size=4, embed_dim=8, depths=[1], num_heads=[2])
            ),
            "sees pictures, and .* the family “swin”",
        ),
        (lambda: hf.ViltModel(hf.ViltConfig(**TEXT, image_size=16, patch_size=8)), "sees pictures"),
        (lambda: hf.ASTModel(hf.ASTConfig(**SIZES)), "hears sounds, and .* the family “audio-spec"),
        (
            lambda: hf.TimeSeriesTransformerModel(hf.TimeSeriesTransformerConfig(prediction_length=2)),
            "reads past_values, and",
        ),
        (
            lambda: hf.MambaModel(hf.MambaConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1)),
            "no attention weights.$",
        ),
    ],
)
def test_what_cannot_be_shown_is_told_what_it_is(make: Any, message: str) -> None:
    model: Any = make().eval()
    with pytest.raises(ModelNotSupported, match=message):
        attnviz.trace([1, 7, 9], model)
    with pytest.raises(ModelNotSupported, match=message):
        attnviz.look(NOTHING, model, processor=PROCESSOR)


def test_a_config_with_several_numbers_of_layers_is_no_damage() -> None:
    sizes = {"l_layers": 1, "x_layers": 1, "r_layers": 1, "num_attention_heads": 4}
    model = hf.LxmertModel(hf.LxmertConfig(vocab_size=61, hidden_size=32, **sizes))
    with pytest.raises(ModelNotSupported, match="have no num_hidden_layers, or several"):
        attnviz.trace([1, 7, 9], model)


class Holder:
    """As pipelines and the like: somewhere in it are a model and its tokenizer."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


class Documented(Holder):
    """As SentenceTransformer: what is documented is a property."""

    @property
    def auto_model(self) -> Any:
        return self.hidden  # type: ignore[attr-defined]

    @property
    def broken(self) -> Any:
        raise RuntimeError


def test_where_other_objects_hold_their_model(folder_of: FolderOf) -> None:
    network, words = own_model(folder_of("bert")), own_tokenizer(folder_of("bert"))
    seeing = hf.ImageFeatureExtractionPipeline(
        model=own_model(folder_of("vit")), image_processor=PROCESSOR, device="cpu"
    )
    holder: Any
    for holder, path in (
        (Holder(seeing=seeing), "model.seeing.model, with processor=model.seeing.image_processor"),
        (Holder(lm=network, words=words), "model.lm, with tokenizer=model.words"),
        (Holder(one=Holder(two=Holder(net=network))), "model.one.two.net"),
        (
            Holder(_modules={"0": Documented(hidden=network, words=words)}),
            "model[0].auto_model, with tokenizer=model[0].words",
        ),
        (nn.Sequential(nn.Identity(), network), "model[1]"),
    ):
        with pytest.raises(TypeError, match=rf"Give what is inside: {re.escape(path)}\.$"):
            attnviz.trace(SENTENCE, holder)
    with pytest.raises(TypeError, match=r"give an object, as BertModel\.from_pretrained"):
        attnviz.trace(SENTENCE, hf.BertModel)


def test_an_offloaded_model_is_loaded_again(folder_of: FolderOf, tmp_path: Any) -> None:
    folder = folder_of("gpt2")
    places = {"wte": "cpu", "wpe": "cpu", "h.0": "disk", "h.1": "cpu", "ln_f": "cpu"}
    offloaded = hf.AutoModel.from_pretrained(folder, device_map=places, offload_folder=tmp_path)
    with pytest.raises(
        ModelNotSupported, match=r"not in memory: .* with from_pretrained\(…\), without device_map"
    ):
        attnviz.trace([1, 7, 9], offloaded)
    assert attnviz.trace([1, 7, 9], hf.AutoModel.from_pretrained(folder)).blocks
