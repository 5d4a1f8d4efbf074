"""Tiny models with cross-attention from text to an image, and their processors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil
from transformers.models.donut.image_processing_pil_donut import DonutImageProcessorPil
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from tests.capture.tiny_vision import Built, tokenizer_of_words

_TEXTS = ("input_ids", "decoder_input_ids")
_LIBRARY: Any = transformers  # its constructors are untyped
_VIT = {"hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 3}
_DECODER = {
    "d_model": 32,
    "decoder_layers": 2,
    "decoder_attention_heads": 4,
    "decoder_ffn_dim": 48,
    "encoder_layers": 5,
    "max_position_embeddings": 64,
}


def _random(network: Any) -> Any:
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(12)
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 1.2 / (parameter.numel() / parameter.shape[0]) ** 0.5)
    return network.eval()


def _encoder_decoder(encoder: Any, decoder: Any, images: Any, processor: str, tokenizer: Any) -> Built:
    decoder.vocab_size, decoder.is_decoder, decoder.add_cross_attention = len(tokenizer), True, True
    config = _LIBRARY.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 2, 0, 3
    network = _random(_LIBRARY.VisionEncoderDecoderModel(config))
    network.generation_config.decoder_start_token_id = 2
    return network, getattr(transformers, processor)(images, tokenizer)


def _trocr() -> Built:
    images = ViTImageProcessorPil(size={"height": 20, "width": 40})
    encoder = _LIBRARY.ViTConfig(**_VIT, image_size=[20, 40], patch_size=5)
    return _encoder_decoder(
        encoder, _LIBRARY.TrOCRConfig(**_DECODER), images, "TrOCRProcessor", tokenizer_of_words()
    )


def _vit_gpt2() -> Built:
    images = ViTImageProcessorPil(size={"height": 20, "width": 20})
    encoder = _LIBRARY.ViTConfig(**_VIT, image_size=20, patch_size=5)
    decoder = _LIBRARY.GPT2Config(n_embd=24, n_head=4, n_layer=2, n_positions=64)
    return _encoder_decoder(encoder, decoder, images, "TrOCRProcessor", tokenizer_of_words())


def _donut() -> Built:
    # 52 × 75 pixels are 13 × 19 patches, which the second stage reduces to 7 × 10.
    images = DonutImageProcessorPil(size={"height": 52, "width": 75})
    encoder = _LIBRARY.DonutSwinConfig(
        image_size=[52, 75], patch_size=4, embed_dim=16, depths=[1, 2], num_heads=[2, 4], window_size=4
    )
    decoder = _LIBRARY.MBartConfig(**_DECODER, forced_eos_token_id=None)
    return _encoder_decoder(encoder, decoder, images, "DonutProcessor", tokenizer_of_words("<s_task>"))


def _blip() -> Built:
    tokenizer = tokenizer_of_words("[DEC]")
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "encoder_hidden_size": 24,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "bos_token_id": 4,
        "sep_token_id": 3,
        "pad_token_id": 0,
    }
    vision = {**_VIT, "image_size": 20, "patch_size": 5}
    network = _LIBRARY.BlipForConditionalGeneration(
        _LIBRARY.BlipConfig(text_config=text, vision_config=vision)
    )
    images = BlipImageProcessorPil(size={"height": 20, "width": 20})
    return _random(network), _LIBRARY.BlipProcessor(images, tokenizer)


READERS: dict[str, Callable[[], Built]] = {
    "trocr": _trocr,
    "donut": _donut,
    "blip": _blip,
    "vit-gpt2": _vit_gpt2,
}


@cache
def built(family: str) -> Built:
    """Return a tiny model of this family, always with the same weights, and its processor."""
    return READERS[family]()


def eager_weights_by_kind(network: Any, inputs: dict[str, Any]) -> dict[str, list[Tensor]]:
    """Return transformers' `eager` weights by kind; hooks record BLIP's decoder weights."""
    arguments = {name: value for name, value in inputs.items() if name in ("pixel_values", *_TEXTS)}
    network.set_attn_implementation("eager")
    found: dict[str, list[Tensor]] = {"decoder": [], "cross": []}
    hooks = [
        module.register_forward_hook(lambda _, __, returned, to=found[kind]: to.append(returned[1]))
        for name, module in network.named_modules()
        for kind in ["cross" if "crossattention" in name else "decoder"]
        if type(module).__name__ == "BlipTextSelfAttention"
    ]
    with torch.inference_mode():
        returned = network(**arguments, output_attentions=True)
    for hook in hooks:
        hook.remove()
    if hooks:
        return {**found, "vision": returned.attentions}
    names = {"vision": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    return {kind: returned[name] for kind, name in names.items()}
