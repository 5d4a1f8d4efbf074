"""Reference results for the tiny models, computed by transformers."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from transformers import (
    AutoImageProcessor,
    AutoModel,
    AutoModelForSeq2SeqLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    SiglipTextModel,
)

import attnviz
from attnviz.models import resolve
from attnviz.trace import Floats, Kind, Trace
from tests.capture.tiny import SENTENCE, VISION_FAMILIES

ENCODER_DECODERS = ("bart", "marian", "t5", "t5gemma", "mbart", "m2m_100", "pegasus", "led", "longt5")
"""The families with an encoder and a decoder."""

TARGET = "The road was very wide ."
"""Target text for the encoder–decoders."""


# The linear layers with W_O, by family: the ends of their names in transformers.
_OUTPUT_PROJECTIONS = {
    "bert": ["attention.output.dense"],
    "roberta": ["attention.output.dense"],
    "electra": ["attention.output.dense"],
    "deberta": ["attention.output.dense"],
    "deberta-v2": ["attention.output.dense"],
    "distilbert": ["attention.out_lin"],
    "albert": ["attention.dense"],
    "modernbert": ["attn.Wo"],
    "mpnet": ["attention.attn.o"],
    "gpt2": ["attn.c_proj"],
    "gpt_neo": ["attn.attention.out_proj"],
    "gpt_neox": ["attention.dense"],
    "gptj": ["attn.out_proj"],
    "bloom": ["self_attention.dense"],
    "codegen": ["attn.out_proj"],
    "falcon": ["self_attention.dense"],
    "mpt": ["attn.out_proj"],
    "roformer": ["attention.output.dense"],
    "opt": ["self_attn.out_proj"],
    "phi": ["self_attn.dense"],
    **{
        family: ["self_attn.o_proj"]
        for family in ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gpt_oss", "phi3")
    },
    "bart": ["self_attn.out_proj", "encoder_attn.out_proj"],
    "marian": ["self_attn.out_proj", "encoder_attn.out_proj"],
    "t5": ["SelfAttention.o", "EncDecAttention.o"],
    **{family: ["attention.o_proj"] for family in ("vit", "dinov2", "dinov2_with_registers")},
    **{
        family: ["self_attn.out_proj"]
        for family in ("clip", "siglip", "clip_text_model", "siglip_text_model")
    },
}


def picture() -> Image.Image:
    """Return an image of random noise, larger than the models' input and with a different aspect ratio."""
    random = np.random.default_rng(3)
    return Image.fromarray(random.integers(0, 255, (31, 43, 3), dtype=np.uint8))


@cache
def cached_trace(folder: Path) -> Trace:
    """Return attnviz's trace of the reference text or image."""
    if folder.name in VISION_FAMILIES:
        return attnviz.look(picture(), folder, "noise")
    return attnviz.trace(SENTENCE, folder, target=TARGET if folder.name in ENCODER_DECODERS else None)


def reference_model(
    folder: Path, dtype: torch.dtype = torch.float32, implementation: str = "eager"
) -> PreTrainedModel:
    """Load the model with transformers' own attention; return only the vision part of CLIP and SigLIP."""
    auto: Any = AutoModelForSeq2SeqLM if folder.name in ENCODER_DECODERS else AutoModel
    if folder.name == "siglip_text_model":
        auto = SiglipTextModel
    model: PreTrainedModel = auto.from_pretrained(
        folder,
        attn_implementation=implementation,
        dtype=dtype,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
    ).eval()
    part: PreTrainedModel = getattr(model, "vision_model", model)
    return part


def reference_tokenizer(folder: Path) -> Any:
    """Load the tokenizer with transformers, without the additions of the family's tokenizer class."""
    return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)


def reference_processor(folder: Path) -> Any:
    """Load the image processor with transformers."""
    auto: Any = AutoImageProcessor
    return auto.from_pretrained(folder, local_files_only=True, backend="pil")


def reference_inputs(folder: Path, model: PreTrainedModel) -> dict[str, Tensor]:
    """Return transformers' inputs for the text or image of `cached_trace`."""
    if folder.name in VISION_FAMILIES:
        return {"pixel_values": reference_processor(folder)(picture(), return_tensors="pt")["pixel_values"]}
    tokenizer = reference_tokenizer(folder)
    inputs = {"input_ids": tokenizer(SENTENCE, return_tensors="pt")["input_ids"]}
    if folder.name in ENCODER_DECODERS:
        labels = tokenizer(text_target=TARGET, return_tensors="pt")["input_ids"]
        if folder.name == "m2m_100":  # has no prepare_decoder_input_ids_from_labels
            start = torch.tensor([[model.config.decoder_start_token_id]])
            return {**inputs, "decoder_input_ids": torch.cat([start, labels[:, :-1]], dim=1)}
        shift: Any = model.prepare_decoder_input_ids_from_labels
        inputs["decoder_input_ids"] = shift(labels=labels)
    return inputs


@cache
def reference_weights(folder: Path) -> dict[Kind, list[Floats]]:
    """Return the weights that transformers returns, by kind and layer."""
    model = reference_model(folder)
    with torch.inference_mode():
        if folder.name == "big_bird":  # the first pass replaces the attention and returns no weights
            model(**reference_inputs(folder, model))
        output = model(**reference_inputs(folder, model), output_attentions=True)
    weights = getattr(output, "attentions", None)
    if folder.name == "minimax":  # lightning attention returns values that are not weights
        weights = output.attentions[1::2]
    returned: dict[Kind, Any] = {resolve.entry(str(folder)).kinds[0]: weights}
    if model.config.is_encoder_decoder:
        returned = {
            "encoder": output.encoder_attentions,
            "decoder": output.decoder_attentions,
            "cross": output.cross_attentions,
        }
    return {kind: [layer[0].numpy() for layer in layers] for kind, layers in returned.items()}


def output_projections(model: PreTrainedModel, family: str) -> list[nn.Module]:
    """Return the linear layers with W_O, in the order in which the attention layers run."""
    ends = tuple(f".{end}" for end in _OUTPUT_PROJECTIONS[family])
    return [module for name, module in model.named_modules() if name.endswith(ends)]
