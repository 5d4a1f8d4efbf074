"""Model families: which are supported, and why others cannot be recorded exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from attnviz.errors import AttentionNotRead

REFUSED: Mapping[str, tuple[str, ...]] = {
    "it has state-space layers, which have a recurrent state and no attention weights": (
        *("mamba", "mamba2", "falcon_mamba"),
    ),
    "it has a recurrent memory and no attention weights": ("xlstm",),
    "it has linear attention, which has no weight for each pair of tokens": ("rwkv",),
    "a part of each layer is a convolution, which has no attention weights": ("convbert",),
    "it mixes its tokens without attention": ("fnet",),
    "it computes attention only within blocks or samples of the tokens": (
        "bigbird_pegasus",
        "reformer",
        "nystromformer",
        "yoso",
    ),
    "it reads bytes and patches of bytes, which are not tokens": ("blt",),
    "it combines two models with separate configs": (
        *("encoder-decoder", "speech-encoder-decoder", "vision-text-dual-encoder", "rag"),
    ),
    "its images have different numbers of patches, with padding": ("siglip2", "siglip2_vision_model"),
    "it processes audio": (
        *("whisper", "wav2vec2", "hubert", "wavlm", "speech_to_text", "moonshine", "bark", "musicgen"),
    ),
    "it has custom attention code that attnviz does not support": ("xlnet", "prophetnet"),
}
"""The reasons for refusal, each with the families (transformers' `model_type`) that are always refused."""

QUANTIZERS: Mapping[object, str] = {
    "torchao": "torchao",
    "bitsandbytes": "bitsandbytes",
    "compressed-tensors": "compressed-tensors",
    "gptq": "gptqmodel",
    "awq": "gptqmodel",
}
"""The packages that transformers uses to read quantized weights, by `quant_method` of the config."""

LOCAL = frozenset({"longformer", "led", "longt5", "big_bird"})
"""Families with an encoder that computes weights only for nearby tokens."""

ABLATION_ONLY = frozenset(
    {*("bloom", "codegen", "deberta", "deberta-v2", "falcon", "gpt_neo", "gptj", "mpnet", "mpt"), "roformer"}
)
"""Families with custom attention code: heads can be ablated, but not redirected."""

_LAYERS_WITHOUT_WEIGHTS: Mapping[str, str] = {
    "linear_attention": "linear attention",
    "conv": "a convolution",
    "mlp": "a feed-forward layer",
    "moe": "a layer of experts",
}
"""Descriptions of layers without a weight for each pair of tokens, by layer type in configs."""

_LINEAR_ATTENTION: Mapping[str, str] = {
    **dict.fromkeys(("jamba", "zamba"), "recurrent (Mamba)"),
    **dict.fromkeys(("bamba", "granitemoehybrid", "nemotron_h", "zamba2"), "recurrent (Mamba 2)"),
    "recurrent_gemma": "recurrent (RG-LRU)",
    "minimax": "linear attention (Lightning Attention)",
    "kimi_linear": "linear attention (Kimi Delta Attention)",
    **dict.fromkeys(("qwen3_next", "olmo_hybrid", "qwen3_5_text"), "linear attention (Gated DeltaNet)"),
}
"""The kind of layer that "linear_attention" means in configs, by family."""

VISION: frozenset[str] = frozenset(
    {"vit", "dinov2", "dinov2_with_registers", "clip_vision_model", "siglip_vision_model"}
)
"""The vision families."""

ANY_SIZE = frozenset({"dinov2", "dinov2_with_registers"})
"""Vision families for images of any size: position embeddings of patches are interpolated."""

READERS = frozenset({"vision-encoder-decoder", "blip"})
"""Families with an encoder of one image, and a decoder with cross-attention to its patches."""

WITH_IMAGES = READERS | frozenset(
    {
        *(
            "llava",
            "llava_onevision",
            "qwen2_vl",
            "qwen2_5_vl",
            "qwen3_vl",
            "paligemma",
            "gemma3",
            "idefics3",
        ),
        *("smolvlm", "internvl"),
    }
)
"""The vision-language families."""

TWO_TOWERS = frozenset({"clip", "siglip"})
"""Families of two models, `vision_model` and `text_model`, connected only after their last layers."""

TEXT_TOWERS = frozenset({"clip_text_model", "siglip_text_model"})
"""The `model_type` of the text models of `TWO_TOWERS`."""

WITHOUT_AUTO: Mapping[str, str] = {"siglip_text_model": "SiglipTextModel"}
"""The classes of families that transformers' Auto classes do not load."""

_TEXT_MODEL_NOTE = (
    "This is the vision model. To open the text model, save it with its tokenizer in another folder: "
    "{}.from_pretrained(…).save_pretrained(…)."
)
NOTES: Mapping[str, str] = {
    "clip_vision_model": _TEXT_MODEL_NOTE.format("CLIPTextModel"),
    "siglip_vision_model": f"{_TEXT_MODEL_NOTE.format('SiglipTextModel')} After the last layer, a pooling "
    "head combines the patches with a learned query, which is not a token; this attention is not recorded.",
    "siglip_text_model": "The model was trained on texts padded to equal length without a mask. Here, "
    "the text is not padded.",
}
"""Notes for users on some families."""
_OTHER_INPUTS = ("vision_config", "audio_config")


def refusal(model_type: str, config: Mapping[str, Any]) -> str | None:
    """Return the known reason why a model with this config cannot be recorded exactly; None if there is none.

    Other models are compared with transformers' own attention when loaded, and refused if they differ.

    Args:
        model_type: transformers' name of the family.
        config: the contents of `config.json`.
    """
    if quantized := config.get("quantization_config"):
        method = quantized.get("quant_method")
        package = QUANTIZERS.get(method)
        if package is None or find_spec(package.replace("-", "_")) is None:
            needed = f"the package {package}, which is not installed" if package else "an unsupported package"
            return (
                f"The weights of this model are quantized ({method}) and require {needed}. Use the "
                "model without quantization."
            )
    reason = _reason_for(model_type, config)
    return None if reason is None else f"A model of the family “{model_type}” cannot be shown: {reason}."


def refuse_local(model_type: str) -> None:
    """Check that vectors, and not only weights, can be recorded for a family.

    Raises:
        AttentionNotRead: only the weights can be recorded.
    """
    if model_type in LOCAL and model_type != "big_bird":  # for short texts it computes all weights
        raise AttentionNotRead(
            f"The encoder of a model of the family “{model_type}” computes weights only for nearby tokens, "
            "in custom code."
        )


def _reason_for(model_type: str, config: Mapping[str, Any]) -> str | None:
    for reason, families in REFUSED.items():
        if model_type in families:
            return reason
    if model_type == "falcon" and config.get("alibi"):
        return "transformers adds its ALiBi bias twice with `eager` attention, and once with `sdpa`"
    if model_type not in TWO_TOWERS | WITH_IMAGES and any(config.get(part) for part in _OTHER_INPUTS):
        return "it reads images or audio together with text, which attnviz does not support in this family"
    return None


def without_weights(model_type: str, layer_types: Sequence[str]) -> dict[int, str]:
    """Return descriptions of the layers without attention weights, by index from 0.

    Args:
        model_type: transformers' name of the family.
        layer_types: the type of each layer in the config.
    """
    linear = _LINEAR_ATTENTION.get(model_type, _LAYERS_WITHOUT_WEIGHTS["linear_attention"])
    kinds = {**_LAYERS_WITHOUT_WEIGHTS, "linear_attention": linear}
    return {number: kinds[kind] for number, kind in enumerate(layer_types) if kind in kinds}
