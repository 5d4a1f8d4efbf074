"""Tiny models of every family: built from configs with random weights, and saved with `save_pretrained`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    SiglipTextModel,
)
from transformers.utils import logging

from tests.capture.tiny_readers import READERS, built

SENTENCE = "The dog did not cross the road as it was too tired ."
"""A text in the vocabulary of every tiny model; each word is one token."""

WORDS = tuple(
    dict.fromkeys(
        f"{SENTENCE} {SENTENCE.lower()} narrow wide cat house old man woman a an and but because so he she "
        "they we I you is are were be has had saw likes went came home away from to in on with fish bird "
        "small big red green happy sad very Paris is the capital of France , ? !".split()
    )
)
"""The vocabulary of the tiny models, without special tokens."""

FolderOf = Callable[[str], Path]
"""The type of the fixture `folder_of`, a function that returns the folder of a family's tiny model."""

Special = Literal["bert", "roberta", "marian", "t5", "llama", "opt", "gpt2", "none"]

# The special tokens of each kind of tokenizer, in the order of their ids.
_SPECIAL_TOKENS: dict[Special, dict[str, str]] = {
    "bert": {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    },
    "roberta": {
        "bos_token": "<s>",
        "pad_token": "<pad>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "mask_token": "<mask>",
    },
    "marian": {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"},
    "t5": {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
    "llama": {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"},
    "opt": {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "</s>"},
    "gpt2": {"eos_token": "<|endoftext|>"},
    "none": {},
}

# Templates for one text and for a pair of texts.
_TEMPLATES: dict[Special, tuple[str, str]] = {
    "bert": ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"),
    "roberta": ("<s> $A </s>", "<s> $A </s> </s> $B </s>"),
    "marian": ("$A </s>", "$A $B </s>"),
    "t5": ("$A </s>", "$A </s> $B </s>"),
    "llama": ("<s> $A", "<s> $A $B"),
    "opt": ("</s> $A", "</s> $A $B"),
}


@dataclass(frozen=True)
class Recipe:
    """How to build a tiny model of a family.

    Attributes:
        head: class that builds the network, such as AutoModelForMaskedLM.
        special: the kind of its special tokens.
        sizes: settings of its config; heads, layers and widths differ, to reveal mixed-up dimensions.
        spread: scale of its random weights; large, to make attention far from uniform.
    """

    head: Any
    special: Special
    sizes: dict[str, Any]
    spread: float


def _recipe(
    head: Any, special: Special, common: dict[str, Any] | None = None, spread: float = 1.5, **sizes: Any
) -> Recipe:
    return Recipe(head, special, {**(common or {}), **sizes}, spread)


_START = "decoder_start_token_id"
_MASKED, _CAUSAL, _SEQ2SEQ = AutoModelForMaskedLM, AutoModelForCausalLM, AutoModelForSeq2SeqLM
_POSITIONS = {"max_position_embeddings": 61}
_LAYERS = {**_POSITIONS, "num_attention_heads": 3, "num_hidden_layers": 2}
_BERT = {**_LAYERS, "hidden_size": 15, "intermediate_size": 11}
_ROBERTA = {**_BERT, "max_position_embeddings": 63, "type_vocab_size": 1}  # two positions are unused
_GPT2 = {"n_head": 3, "n_layer": 2, "n_positions": 61, "n_inner": 11}
_GROUPED = {**_LAYERS, "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 11}
_LLAMA = {**_GROUPED, "hidden_size": 24, "head_dim": 10}
_BART = {
    "d_model": 15,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_layers": 3,
    "encoder_ffn_dim": 11,
    "decoder_ffn_dim": 7,
    "decoder_layers": 2,
    "activation_function": "relu",
    **_POSITIONS,
}
_RELATIVE = {**_BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
_PATCHES = {"hidden_size": 15, "num_attention_heads": 3, "num_hidden_layers": 2, "patch_size": 5}
_TOWERS = {
    "vision_config": {**_PATCHES, "intermediate_size": 11, "image_size": 20},
    "text_config": {
        **_BERT,
        "hidden_size": 10,
        "num_attention_heads": 2,
        "vocab_size": 70,
        "bos_token_id": None,
        "eos_token_id": 69,
    },
}
_LINEAR = {
    "num_hidden_layers": 4,
    "layer_types": ["linear_attention", "full_attention"] * 2,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_num_heads": 2,
    "linear_key_head_dim": 6,
    "linear_value_head_dim": 5,
    "linear_head_dim": 6,
}
_CONVOLUTIONS = ["conv", "full_attention"] * 2
_EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8}
_TWO_EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1, "intermediate_size": 16}
_MAMBA = {
    "num_hidden_layers": 4,
    "hidden_size": 24,
    "chunk_size": 8,
    "mamba_chunk_size": 8,
    "mamba_n_heads": 4,
    "mamba_d_head": 12,
    "mamba_d_state": 8,
    "ssm_state_size": 8,
    "n_groups": 1,
}
_LATENT = {
    **_LAYERS,
    "hidden_size": 24,
    "intermediate_size": 11,
    "num_key_value_heads": 3,
    "kv_lora_rank": 6,
    "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4,
    "v_head_dim": 5,
}

_SLIDING_AND_FULL = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
_T5GEMMA = {**_LLAMA, **_SLIDING_AND_FULL, "query_pre_attn_scalar": 7, "attn_logit_softcapping": 2.0}

_RECIPES: dict[str, Recipe] = {
    "bert": _recipe(_MASKED, "bert", _BERT),
    "roberta": _recipe(_MASKED, "roberta", _ROBERTA),
    "distilbert": _recipe(_MASKED, "bert", _POSITIONS, dim=15, hidden_dim=11, n_heads=3, n_layers=2),
    "albert": _recipe(_MASKED, "bert", _BERT, num_hidden_layers=3, embedding_size=7),
    "electra": _recipe(_MASKED, "bert", _BERT, embedding_size=7),
    "modernbert": _recipe(
        *(_MASKED, "bert", _BERT),
        hidden_size=30,
        num_hidden_layers=3,
        global_attn_every_n_layers=2,
        local_attention=6,
    ),
    "gpt2": _recipe(_CAUSAL, "gpt2", _GPT2, n_embd=15),
    "gpt_neox": _recipe(_CAUSAL, "gpt2", _BERT, hidden_size=30, rotary_pct=0.4),
    "opt": _recipe(_CAUSAL, "opt", _LAYERS, hidden_size=15, word_embed_proj_dim=15, ffn_dim=11),
    "llama": _recipe(_CAUSAL, "llama", _LLAMA),
    "mistral": _recipe(_CAUSAL, "llama", _LLAMA, sliding_window=5),
    "qwen2": _recipe(_CAUSAL, "gpt2", _GROUPED, hidden_size=60),
    "qwen3": _recipe(_CAUSAL, "gpt2", _LLAMA),
    "gemma": _recipe(_CAUSAL, "llama", _LLAMA),
    "phi": _recipe(_CAUSAL, "gpt2", _BERT, hidden_size=30, partial_rotary_factor=0.4),
    "phi3": _recipe(_CAUSAL, "llama", _GROUPED, hidden_size=60),
    "bart": _recipe(_SEQ2SEQ, "roberta", {**_BART, _START: "eos_token"}),
    "marian": _recipe(_SEQ2SEQ, "marian", {**_BART, _START: "pad_token"}),
    "t5": _recipe(
        *(_SEQ2SEQ, "t5", {"d_model": 14, "d_kv": 5, "d_ff": 11, "num_heads": 3, _START: "pad_token"}),
        spread=0.8,  # T5 does not divide scores by √d_head
        num_layers=3,
        num_decoder_layers=2,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=17,
    ),
    "vit": _recipe(
        *(AutoModelForImageClassification, "none", _PATCHES),
        intermediate_size=11,
        image_size=[15, 25],  # three rows of five patches, to reveal mixed-up axes
        num_labels=7,
    ),
    # DINOv2's position embeddings are for 4 × 4 patches; its images, like ViT's, have 3 × 5.
    "dinov2": _recipe(AutoModelForImageClassification, "none", _PATCHES, image_size=20),
    "dinov2_with_registers": _recipe(AutoModel, "none", _PATCHES, image_size=20, num_register_tokens=2),
    "clip": _recipe(AutoModel, "none", _TOWERS),
    "siglip": _recipe(AutoModel, "none", _TOWERS),
    "clip_text_model": _recipe(AutoModel, "gpt2", _BERT),
    "siglip_text_model": _recipe(SiglipTextModel, "t5", _BERT),
    "deberta": _recipe(_MASKED, "bert", _RELATIVE, max_relative_positions=11),
    "deberta-v2": _recipe(
        *(_MASKED, "bert", _RELATIVE),
        position_buckets=4,
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        type_vocab_size=0,
    ),
    "mpnet": _recipe(_MASKED, "roberta", _ROBERTA),
    "bloom": _recipe(_CAUSAL, "llama", hidden_size=15, n_head=3, n_layer=2),
    "gptj": _recipe(_CAUSAL, "gpt2", _GPT2, n_embd=30, rotary_dim=4),
    "codegen": _recipe(_CAUSAL, "gpt2", _GPT2, n_embd=36, n_head=4, rotary_dim=4),
    "gpt_neo": _recipe(
        *(_CAUSAL, "gpt2", {**_POSITIONS, "hidden_size": 15, "intermediate_size": 11}),
        num_heads=3,
        num_layers=2,
        attention_types=[[["global", "local"], 1]],
        window_size=5,
    ),
    "gemma2": _recipe(
        *(_CAUSAL, "llama", _LLAMA), attn_logit_softcapping=2.0, query_pre_attn_scalar=7, sliding_window=5
    ),
    "gpt_oss": _recipe(
        *(_CAUSAL, "gpt2", _LLAMA),
        intermediate_size=16,  # in half precision, torch requires a multiple of 8
        num_local_experts=2,
        num_experts_per_tok=1,
        sliding_window=5,
        max_position_embeddings=128,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 100.0,
            "factor": 4.0,
            "original_max_position_embeddings": 32,
        },
    ),
    "openai-gpt": _recipe(_CAUSAL, "gpt2", _GPT2, n_embd=15),
    "roformer": _recipe(_MASKED, "bert", _BERT, hidden_size=30, embedding_size=7),
    "mpt": _recipe(_CAUSAL, "gpt2", {"d_model": 15, "n_heads": 3, "n_layers": 2, "max_seq_len": 61}),
    "falcon": _recipe(_CAUSAL, "gpt2", _LAYERS, hidden_size=30),
    "longformer": _recipe(*(_MASKED, "roberta", _ROBERTA), attention_window=4),
    "led": _recipe(
        *(_SEQ2SEQ, "roberta", {**_BART, _START: "eos_token"}),
        attention_window=4,
        max_encoder_position_embeddings=64,
    ),
    "longt5": _recipe(
        *(_SEQ2SEQ, "t5", {"d_model": 14, "d_kv": 5, "d_ff": 11, "num_heads": 3, _START: "pad_token"}),
        spread=0.8,
        num_layers=3,
        num_decoder_layers=2,
        local_radius=3,
        global_block_size=4,
    ),
    "big_bird": _recipe(_MASKED, "bert", _BERT),
    # Hybrid models: the second and fourth of their four or five layers have attention weights.
    "qwen3_next": _recipe(
        *(_CAUSAL, "gpt2", {**_LLAMA, **_EXPERTS, **_LINEAR}), shared_expert_intermediate_size=8
    ),
    "kimi_linear": _recipe(*(_CAUSAL, "llama", {**_LATENT, **_EXPERTS, **_LINEAR}), num_local_experts=4),
    "minimax": _recipe(*(_CAUSAL, "llama", {**_LLAMA, **_TWO_EXPERTS, **_LINEAR}), block_size=8),
    "lfm2": _recipe(*(_CAUSAL, "llama", {**_GROUPED, **_LINEAR}), hidden_size=60, layer_types=_CONVOLUTIONS),
    "jamba": _recipe(
        *(_CAUSAL, "llama", {**_GROUPED, **_TWO_EXPERTS, **_MAMBA}), attn_layer_period=2, attn_layer_offset=1
    ),
    "bamba": _recipe(*(_CAUSAL, "llama", {**_GROUPED, **_MAMBA}), attn_layer_indices=[1, 3]),
    "zamba2": _recipe(
        *(_CAUSAL, "llama", {**_LAYERS, **_MAMBA}),
        layers_block_type=[*["linear_attention", "hybrid"] * 2, "linear_attention"],
        intermediate_size=11,
        num_hidden_layers=5,
        n_mamba_heads=4,
    ),
    "nemotron_h": _recipe(
        *(_CAUSAL, "llama", {**_LLAMA, **_MAMBA}),
        layers_block_type=["linear_attention", "full_attention", "mlp", "full_attention"],
        mamba_num_heads=4,
        mamba_head_dim=12,
    ),
    "granitemoehybrid": _recipe(
        *(_CAUSAL, "llama", {**_GROUPED, **_TWO_EXPERTS, **_MAMBA, **_LINEAR}),
        shared_intermediate_size=8,
        attention_multiplier=0.3,
    ),
    "recurrent_gemma": _recipe(
        *(_CAUSAL, "llama", {**_LAYERS, **_MAMBA}),
        num_key_value_heads=1,
        intermediate_size=12,
        attention_window_size=5,
        block_types=["recurrent", "attention"],
    ),
    # Models for which only the weights are compared.
    "deepseek_v2": _recipe(
        *(_CAUSAL, "llama", {**_LATENT, **_EXPERTS}), q_lora_rank=None, n_routed_experts=4
    ),
    "deepseek_v3": _recipe(
        *(_CAUSAL, "llama", {**_LATENT, **_EXPERTS}),
        q_lora_rank=7,
        n_routed_experts=4,
        n_group=2,
        topk_group=1,
        first_k_dense_replace=1,
    ),
    "qwen3_moe": _recipe(_CAUSAL, "gpt2", {**_LLAMA, **_EXPERTS}),
    "mixtral": _recipe(_CAUSAL, "llama", {**_LLAMA, **_TWO_EXPERTS}),
    "olmo2": _recipe(_CAUSAL, "gpt2", _GROUPED, hidden_size=60),
    "olmo3": _recipe(*(_CAUSAL, "gpt2", {**_GROUPED, **_SLIDING_AND_FULL}), hidden_size=60),
    "gemma3_text": _recipe(*(_CAUSAL, "llama", {**_LLAMA, **_SLIDING_AND_FULL}), query_pre_attn_scalar=7),
    "gemma3n_text": _recipe(
        *(_CAUSAL, "llama", _LLAMA),
        num_hidden_layers=4,
        num_kv_shared_layers=2,
        sliding_window=5,
        layer_types=["sliding_attention", "full_attention"] * 2,
        vocab_size_per_layer_input=70,
        hidden_size_per_layer_input=8,
        laurel_rank=4,
    ),
    "glm4": _recipe(_CAUSAL, "gpt2", _LLAMA),
    "granite": _recipe(*(_CAUSAL, "llama", _GROUPED), hidden_size=60, attention_multiplier=0.2),
    "cohere2": _recipe(*(_CAUSAL, "llama", {**_GROUPED, **_SLIDING_AND_FULL}), hidden_size=60),
    "smollm3": _recipe(*(_CAUSAL, "llama", _GROUPED), hidden_size=60, no_rope_layer_interval=2),
    "starcoder2": _recipe(*(_CAUSAL, "gpt2", _GROUPED), hidden_size=60, sliding_window=5),
    "exaone4": _recipe(_CAUSAL, "gpt2", {**_LLAMA, **_SLIDING_AND_FULL}),
    "modernbert-decoder": _recipe(
        *(
            _CAUSAL,
            "bert",
            {**_BERT, **_SLIDING_AND_FULL, "bos_token_id": "cls_token", "eos_token_id": "sep_token"},
        ),
        hidden_size=30,
        local_attention=6,
    ),
    "falcon_h1": _recipe(*(_CAUSAL, "llama", {**_GROUPED, **_MAMBA}), mamba_d_ssm=48),
    "eurobert": _recipe(_MASKED, "llama", _LLAMA),
    "esm": _recipe(_MASKED, "roberta", _ROBERTA),
    "mbart": _recipe(_SEQ2SEQ, "roberta", {**_BART, _START: "eos_token"}),
    "m2m_100": _recipe(_SEQ2SEQ, "roberta", {**_BART, _START: "eos_token"}),
    "pegasus": _recipe(_SEQ2SEQ, "marian", {**_BART, _START: "pad_token"}),
    "t5gemma": _recipe(
        *(_SEQ2SEQ, "t5", {_START: "pad_token"}),
        encoder={**_T5GEMMA, "num_hidden_layers": 3, "layer_types": ["full_attention"] * 3},
        decoder=_T5GEMMA,
    ),
}

WEIGHTS_ALONE: tuple[str, ...] = ("openai-gpt", "big_bird", "longformer", "led", "longt5")
"""Families with unsupported attention, for which attnviz shows only the weights."""

REFUSED: tuple[str, ...] = ("mamba", "blt", "wavlm")
"""Families that attnviz refuses because of their config, each for a different reason."""

HYBRID: tuple[str, ...] = (
    *("qwen3_next", "kimi_linear", "minimax", "lfm2", "jamba", "bamba", "zamba2", "nemotron_h"),
    *("granitemoehybrid", "recurrent_gemma"),
)
"""Families in which only some layers have attention weights."""

ALIKE: tuple[str, ...] = (
    *("deepseek_v2", "deepseek_v3", "qwen3_moe", "mixtral", "olmo2", "olmo3", "gemma3_text", "gemma3n_text"),
    *("glm4", "granite", "cohere2", "smollm3", "starcoder2", "exaone4", "modernbert-decoder", "falcon_h1"),
    *("eurobert", "esm", "mbart", "m2m_100", "pegasus", "t5gemma"),
)
"""Families handled by the code for similar families; only their weights are tested."""

FAMILIES: tuple[str, ...] = tuple(
    family for family in _RECIPES if family not in {*WEIGHTS_ALONE, *HYBRID, *ALIKE}
)
"""Families on which all tests run."""

VISION_FAMILIES: tuple[str, ...] = ("vit", "dinov2", "dinov2_with_registers", "clip", "siglip")
"""Families of vision models, including the vision parts of CLIP and SigLIP."""

TEXTS: tuple[str, ...] = tuple(family for family in FAMILIES if family not in VISION_FAMILIES)
"""Families of text models."""

ON_EVERY_PUSH: Mapping[str, tuple[str, ...]] = {
    # A plain encoder and decoder, rotary with grouped keys, windows, encoder–decoder with relative bias,
    # images (with registers, cropped, part of a model), a cap, sinks, and custom attention: ALiBi, a method
    # of the module, and relative positions.
    "weights": (
        *("bert", "gpt2", "llama", "mistral", "modernbert", "t5", "vit", "dinov2_with_registers", "clip"),
        *("siglip", "gemma2", "gpt_oss", "bloom", "gptj"),
        "deberta-v2",
    ),
    "alike": ("deepseek_v3", "gemma3n_text", "t5gemma"),
    "hybrid": ("minimax", "lfm2", "zamba2"),
    "pairs": ("bert", "roberta"),
    "objects": ("bert", "gpt2", "t5", "bloom"),
    "many at once": ("bert", "mistral", "t5", "deberta-v2"),
    "batches": ("bert", "mistral", "t5", "mpnet"),
    "word vectors": ("bert", "gpt2", "t5", "gptj"),
    "residual streams": ("bert", "gpt2", "llama", "t5", "bart", "gpt_neox", "mpt"),
    "writing": ("mistral", "bart"),
    "ablate": ("gpt2", "t5", "mpnet", "opt"),
    "ablate custom attention": ("mpnet", "gptj"),
    "redirecting": ("bert", "t5", "gpt_oss"),
    "other outputs": ("gpt2", "t5", "mpnet"),
    "predicting": ("gpt2",),
    "threads": ("minilm", "translator", "mpnet"),
    "without a head": ("gpt2",),
    "forged scale": ("bert", "deberta"),
    "forged mask": ("gpt2", "bloom"),
    "forged cap": ("gemma2",),
    "forged sinks": ("gpt_oss",),
    "forged bias": ("t5", "mpnet"),
    "forged key": ("llama", "vit"),
}
"""For each group of tests, the families tested on every push: one for each mechanism."""


def families(group: str, candidates: Sequence[str] = FAMILIES) -> list[Any]:
    """Return the candidates as test parameters, marked `everything` if not tested on every push."""
    always = ON_EVERY_PUSH[group]
    assert set(always) & set(candidates)
    return [
        pytest.param(family, marks=() if family in always else pytest.mark.everything)
        for family in candidates
    ]


def tiny(family: str, folder: Path) -> Path:
    """Build a tiny model of a family, save it in the folder, and return the folder.

    The folder has the files of `save_pretrained`: config.json, model.safetensors, tokenizer.json and
    tokenizer_config.json (a vision model has preprocessor_config.json instead of the last two; a refused
    family has only the config). The weights of a family are the same in every call.

    Args:
        family: one of `FAMILIES`, `ALIKE`, `HYBRID`, `READERS`, `WEIGHTS_ALONE` or `REFUSED`.
        folder: created if missing.
    """
    if family in READERS:
        for part in built(family):
            part.save_pretrained(folder)
        return folder
    if family in REFUSED:
        AutoConfig.for_model(family).save_pretrained(folder)
        return folder
    recipe = _RECIPES[family]
    folder.mkdir(parents=True, exist_ok=True)
    ids = _save_tokenizer(recipe.special, folder)
    named = {name: ids[token] for name, token in _SPECIAL_TOKENS[recipe.special].items()}
    sizes = {key: named.get(str(size), size) for key, size in recipe.sizes.items()}
    if ids:
        sizes["vocab_size"] = len(ids)
        for name in ("bos_token", "eos_token", "pad_token", "cls_token", "sep_token"):
            sizes.setdefault(f"{name}_id", named.get(name))
    with torch.random.fork_rng():
        torch.manual_seed(11)
        build = getattr(recipe.head, "from_config", None) or recipe.head._from_config
        network = build(AutoConfig.for_model(family, **sizes), dtype=torch.float32).eval()
        _set_random_weights(network, recipe.spread)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # keep the tests' output short
    network.save_pretrained(folder)
    if family in VISION_FAMILIES:
        _save_image_processor(family, folder)
    return folder


def untrained(family: str, head: Any = AutoModel, attention: Any = "eager", **sizes: Any) -> Any:
    """Build a network of a family with `from_config`, with random weights, without saving it."""
    config = AutoConfig.for_model(family, **sizes)
    return head.from_config(config, attn_implementation=attention, dtype=torch.float32).eval()


def save_changed(
    source: Path, folder: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]
) -> Path:
    """Copy a saved model to `folder` with changed weights, and return `folder`."""
    shutil.copytree(source, folder)
    file = folder / "model.safetensors"
    save_file(change(load_file(file)), file, {"format": "pt"})
    return folder


def _set_random_weights(network: nn.Module, spread: float) -> None:
    """Set random weights that scale a unit input to about `spread`, and large random biases."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if not parameter.requires_grad:
                continue  # sines and cosines
            if parameter.dim() > 1:
                parameter.normal_(0, spread / (parameter.numel() / parameter.shape[0]) ** 0.5)
            elif name.endswith("bias"):
                parameter.normal_(0, 0.3)
            elif name.endswith("sinks"):
                parameter.normal_(2, 1)


def _save_tokenizer(special: Special, folder: Path) -> dict[str, int]:
    """Save the tokenizer's files, and return the id of every token; do nothing for vision models."""
    if special == "none":
        return {}
    named = _SPECIAL_TOKENS[special]
    ids = {token: number for number, token in enumerate((*named.values(), *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=named.get("unk_token", WORDS[-1])))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(named.values()))
    if special in _TEMPLATES:
        single, pair = _TEMPLATES[special]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=single, pair=pair, special_tokens=[(token, ids[token]) for token in named.values()]
        )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **named}, indent=2), "utf-8"
    )
    return ids


# Settings of preprocessor_config.json: the size, and for some families a centre crop.
_CENTRE_CROP = {"size": {"shortest_edge": 24}, "do_center_crop": True}
_DINO = {
    "image_processor_type": "BitImageProcessor",
    "crop_size": {"height": 15, "width": 25},
    **_CENTRE_CROP,
}
_PROCESSORS: dict[str, dict[str, Any]] = {
    "vit": {"image_processor_type": "ViTImageProcessor", "size": {"height": 15, "width": 25}},
    "dinov2": _DINO,
    "dinov2_with_registers": _DINO,
    # These keys are as in published configs.
    "clip": {"feature_extractor_type": "CLIPFeatureExtractor", "crop_size": 20, **_CENTRE_CROP},
    "siglip": {"image_processor_type": "SiglipImageProcessor", "size": {"height": 20, "width": 20}},
}


def _save_image_processor(family: str, folder: Path) -> None:
    processor = {
        "do_resize": True,
        "resample": 2,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        **_PROCESSORS[family],
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(processor, indent=2), "utf-8")
