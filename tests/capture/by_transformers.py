"""What transformers itself says about a tiny model, to compare with what attnviz shows."""

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
from tests.capture.tiny import SEEING, SENTENCE

PAIRED = ("bart", "marian", "t5", "t5gemma", "mbart", "m2m_100", "pegasus", "led", "longt5")
"""The families with an encoder and a decoder."""

TARGET = "The road was very wide ."
"""What the decoders of the first ones read."""


# Where the layer that mixes the heads stands, seen from the block of its layer; transformers' own names.
_MIXERS = {
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
    """A picture larger than the model's, of another shape, and nowhere the same."""
    random = np.random.default_rng(3)
    return Image.fromarray(random.integers(0, 255, (31, 43, 3), dtype=np.uint8))


@cache
def captured(folder: Path) -> Trace:
    """What attnviz shows, by its public door."""
    if folder.name in SEEING:
        return attnviz.look(picture(), folder, "noise")
    return attnviz.trace(SENTENCE, folder, target=TARGET if folder.name in PAIRED else None)


def own_model(
    folder: Path, dtype: torch.dtype = torch.float32, implementation: str = "eager"
) -> PreTrainedModel:
    """The model as transformers loads it, with its own attention; of two halves, the one that is shown."""
    auto: Any = AutoModelForSeq2SeqLM if folder.name in PAIRED else AutoModel
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
    half: PreTrainedModel = getattr(model, "vision_model", model)
    return half


def own_tokenizer(folder: Path) -> Any:
    """The tokenizer as transformers loads it, without what it would add for a family's own one."""
    return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)


def own_processor(folder: Path) -> Any:
    """The image processor as transformers loads it."""
    auto: Any = AutoImageProcessor
    return auto.from_pretrained(folder, local_files_only=True, backend="pil")


def own_inputs(folder: Path, model: PreTrainedModel) -> dict[str, Tensor]:
    """What transformers itself makes of the same text or of the same picture."""
    if folder.name in SEEING:
        return {"pixel_values": own_processor(folder)(picture(), return_tensors="pt")["pixel_values"]}
    tokenizer = own_tokenizer(folder)
    inputs = {"input_ids": tokenizer(SENTENCE, return_tensors="pt")["input_ids"]}
    if folder.name in PAIRED:
        labels = tokenizer(text_target=TARGET, return_tensors="pt")["input_ids"]
        if folder.name == "m2m_100":  # it has no method for it
            start = torch.tensor([[model.config.decoder_start_token_id]])
            return {**inputs, "decoder_input_ids": torch.cat([start, labels[:, :-1]], dim=1)}
        shift: Any = model.prepare_decoder_input_ids_from_labels
        inputs["decoder_input_ids"] = shift(labels=labels)
    return inputs


@cache
def own_weights(folder: Path) -> dict[Kind, list[Floats]]:
    """The weights that transformers returns, by kind, layer by layer."""
    model = own_model(folder)
    with torch.inference_mode():
        if folder.name == "big_bird":  # its first pass exchanges its attention, and returns none
            model(**own_inputs(folder, model))
        output = model(**own_inputs(folder, model), output_attentions=True)
    weights = getattr(output, "attentions", None)
    if folder.name == "minimax":  # its lightning attention returns something in their place
        weights = output.attentions[1::2]
    returned: dict[Kind, Any] = {resolve.entry(str(folder)).kinds[0]: weights}
    if model.config.is_encoder_decoder:
        returned = {
            "encoder": output.encoder_attentions,
            "decoder": output.decoder_attentions,
            "cross": output.cross_attentions,
        }
    return {kind: [layer[0].numpy() for layer in layers] for kind, layers in returned.items()}


def mixers_of(model: PreTrainedModel, family: str) -> list[nn.Module]:
    """The linear layers with each attention's W_O, in the order in which the attentions run."""
    ends = tuple(f".{end}" for end in _MIXERS[family])
    return [module for name, module in model.named_modules() if name.endswith(ends)]
