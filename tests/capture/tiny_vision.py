"""Tiny vision-language models of every family, with random weights, and their processors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import (
    LlavaOnevisionImageProcessorPil,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

from attnviz.capture.vision_language import without_videos

WORDS = ("what", "is", "in", "this", "picture", "?", "red", "green")
_SPECIAL_TOKENS = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
_TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 4096,
    "bos_token_id": 2,
    "eos_token_id": 3,
    "pad_token_id": 0,
}
_VISION = {"hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 3}
_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
_QWEN_VISION: dict[str, Any] = {
    "depth": 3,
    "num_heads": 2,
    "patch_size": 4,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}

_LIBRARY: Any = transformers  # its constructors are untyped

Built = tuple[Any, Any]
"""A model and its processor."""


def tokenizer_of_words(*special: str, **named: str) -> Any:
    """Return a tokenizer of `WORDS` and these special tokens."""
    vocabulary = {word: at for at, word in enumerate([*_SPECIAL_TOKENS.values(), *special, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = _LIBRARY.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **_SPECIAL_TOKENS, extra_special_tokens=named
    )
    fast.add_special_tokens({"additional_special_tokens": [*special]})
    return fast


def _network(name: str, tokenizer: Any, text: dict[str, Any], vision: dict[str, Any], **settings: Any) -> Any:
    config_class: Any = getattr(transformers, f"{name}Config")
    network_class: Any = getattr(transformers, f"{name}ForConditionalGeneration")
    text = {"vocab_size": len(tokenizer), **_TEXT, **text}
    config = config_class(
        text_config=text,
        vision_config=vision,
        image_token_id=tokenizer.convert_tokens_to_ids(settings.pop("image")),
        **settings,
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        network = network_class(config).eval()
        with torch.no_grad():
            for parameter in network.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0, 1.2 / (parameter.numel() / parameter.shape[0]) ** 0.5)
    return network


def _llava() -> Built:
    tokenizer = tokenizer_of_words("<image>", image_token="<image>")  # noqa: S106 - not a password
    images = CLIPImageProcessorPil(size={"shortest_edge": 20}, crop_size={"height": 20, "width": 20})
    processor = _LIBRARY.LlavaProcessor(
        images,
        tokenizer,
        patch_size=5,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    vision = {"model_type": "clip_vision_model", **_VISION, "image_size": 20, "patch_size": 5}
    return _network(
        "Llava", tokenizer, {"model_type": "llama"}, vision, image="<image>", vision_feature_layer=-1
    ), processor


def _onevision() -> Built:
    tokenizer = tokenizer_of_words("<image>", "<video>", image_token="<image>", video_token="<video>")  # noqa: S106
    pinpoints = [[20, 40], [40, 20], [40, 40]]
    images = LlavaOnevisionImageProcessorPil(size={"height": 20, "width": 20}, image_grid_pinpoints=pinpoints)
    processor = without_videos(transformers.LlavaOnevisionProcessor)(
        image_processor=images,
        tokenizer=tokenizer,
        video_processor=None,
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        vision_aspect_ratio="anyres_max_2",
    )
    vision = {
        "model_type": "siglip_vision_model",
        **_VISION,
        "image_size": 20,
        "patch_size": 5,
        "vision_use_head": False,
    }
    return (
        _network(
            "LlavaOnevision",
            tokenizer,
            {"model_type": "qwen2"},
            vision,
            image="<image>",
            video_token_id=5,
            image_grid_pinpoints=pinpoints,
            vision_aspect_ratio="anyres_max_2",
            vision_feature_select_strategy="full",
        ),
        processor,
    )


def _qwen(name: str) -> Callable[[], Built]:
    def built() -> Built:
        special = ("<|vision_start|>", "<|image_pad|>", "<|vision_end|>", "<|video_pad|>")
        tokenizer = tokenizer_of_words(*special)
        images = Qwen2VLImageProcessorPil(
            patch_size=4,
            temporal_patch_size=2,
            merge_size=2,
            size={"shortest_edge": 8 * 8, "longest_edge": 48 * 48},
        )
        kind: Any = getattr(transformers, f"{name}Processor")
        processor = without_videos(kind)(image_processor=images, tokenizer=tokenizer, video_processor=None)
        visions: dict[str, dict[str, Any]] = {
            "Qwen2VL": {"embed_dim": 24, "hidden_size": 32, "mlp_ratio": 2},
            "Qwen2_5_VL": {
                "hidden_size": 24,
                "out_hidden_size": 32,
                "intermediate_size": 40,
                "window_size": 16,
                "fullatt_block_indexes": [1],
            },
            "Qwen3VL": {
                "hidden_size": 24,
                "out_hidden_size": 32,
                "intermediate_size": 40,
                "num_position_embeddings": 64,
                "deepstack_visual_indexes": [0, 1],
            },
        }
        network = _network(
            name,
            tokenizer,
            {"rope_parameters": _ROPE},
            {**_QWEN_VISION, **visions[name]},
            image="<|image_pad|>",
            video_token_id=7,
            vision_start_token_id=4,
            vision_end_token_id=6,
        )
        return network, processor

    return built


def _paligemma() -> Built:
    tokenizer = tokenizer_of_words("<image>", image_token="<image>")  # noqa: S106
    images: Any = SiglipImageProcessorPil(size={"height": 20, "width": 20})
    images.image_seq_length = 16
    processor = _LIBRARY.PaliGemmaProcessor(images, tokenizer)
    vision = {
        "model_type": "siglip_vision_model",
        **_VISION,
        "image_size": 20,
        "patch_size": 5,
        "vision_use_head": False,
    }
    return _network(
        "PaliGemma", tokenizer, {"model_type": "gemma"}, vision, image="<image>", projection_dim=32
    ), processor


def _gemma3() -> Built:
    special = {
        "boi_token": "<start_of_image>",
        "image_token": "<image_soft_token>",
        "eoi_token": "<end_of_image>",
    }
    tokenizer = tokenizer_of_words(*special.values(), **special)
    images = Gemma3ImageProcessorPil(size={"height": 40, "width": 40}, do_pan_and_scan=False)
    processor = _LIBRARY.Gemma3Processor(images, tokenizer, image_seq_length=16)
    vision = {
        "model_type": "siglip_vision_model",
        **_VISION,
        "image_size": 40,
        "patch_size": 5,
        "vision_use_head": False,
    }
    network = _network(
        "Gemma3",
        tokenizer,
        {"sliding_window": 16, "layer_types": ["sliding_attention"] * 2 + ["full_attention"]},
        vision,
        image="<image_soft_token>",
        mm_tokens_per_image=16,
        boi_token_id=4,
        eoi_token_id=6,
    )
    return network, processor


def _idefics(name: str) -> Callable[[], Built]:
    def built() -> Built:
        rows = [f"<row_{a}_col_{b}>" for a in range(1, 4) for b in range(1, 4)]
        special = ("<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", *rows)
        tokenizer = tokenizer_of_words(*special)
        kind: Any = {"Idefics3": Idefics3ImageProcessorPil, "SmolVLM": SmolVLMImageProcessorPil}[name]
        images = kind(size={"longest_edge": 60}, max_image_size={"longest_edge": 20})
        processor_class = without_videos(getattr(transformers, f"{name}Processor"))
        videos = {"video_processor": None} if name == "SmolVLM" else {}
        processor = processor_class(image_processor=images, tokenizer=tokenizer, image_seq_len=4, **videos)
        vision = {**_VISION, "image_size": 20, "patch_size": 5}
        text = {"model_type": "llama", "pad_token_id": 0}
        return _network(name, tokenizer, text, vision, image="<image>", scale_factor=2), processor

    return built


def _internvl() -> Built:
    named = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tokenizer = tokenizer_of_words(*named.values(), **named)
    images = GotOcr2ImageProcessorPil(
        size={"height": 20, "width": 20}, crop_to_patches=True, min_patches=1, max_patches=6
    )
    processor = without_videos(transformers.InternVLProcessor)(
        image_processor=images, tokenizer=tokenizer, video_processor=None, image_seq_length=4
    )
    vision = {**_VISION, "image_size": [20, 20], "patch_size": [5, 5]}
    return _network(
        "InternVL", tokenizer, {"model_type": "qwen2"}, vision, image="<IMG_CONTEXT>", image_seq_length=4
    ), processor


FAMILIES: dict[str, Callable[[], Built]] = {
    "llava": _llava,
    "llava_onevision": _onevision,
    "qwen2_vl": _qwen("Qwen2VL"),
    "qwen2_5_vl": _qwen("Qwen2_5_VL"),
    "qwen3_vl": _qwen("Qwen3VL"),
    "paligemma": _paligemma,
    "gemma3": _gemma3,
    "idefics3": _idefics("Idefics3"),
    "smolvlm": _idefics("SmolVLM"),
    "internvl": _internvl,
}


@cache
def built(family: str) -> Built:
    """Return a tiny model of this family, always with the same weights, and its processor."""
    return FAMILIES[family]()
