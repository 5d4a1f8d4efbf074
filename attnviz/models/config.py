"""The facts in a model's config, read before its weights: family, sizes and supported inputs."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from attnviz.errors import ModelFilesDamaged, ModelNotSupported, quoted
from attnviz.importing import gate
from attnviz.models import families, limits
from attnviz.models.catalogue import Expects, Facts

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

FILE = "config.json"

IMAGE_PROCESSOR_FILES = ("processor_config.json", "preprocessor_config.json")
"""The files with the image processor's settings; in the first, which takes precedence, they are nested."""

MAX_BYTES = 10_000_000
"""The maximum size of the files other than weights; label lists of 22,000 classes take 2 MB."""

MAX_LAYERS = 10_000
MAX_LABELS = 100_000
"""The maximum number of layers or labels in a config; transformers creates a list of that length."""

ALWAYS_TOKENS = 1024
MAX_ATTENTION_WEIGHTS = 2**28
"""The maximum of layers × heads × tokens² for texts of more than `ALWAYS_TOKENS` tokens: 1.1 GB of weights.

The limit is 1,365 tokens for a model with 12 × 12 heads, and 1,024 for one with 32 × 32 heads (4.3 GB).
"""

MAX_TOKENS = 8192
"""The maximum number of tokens for which queries, keys and values are stored, without weights.

They take at most a quarter of the memory limit (`limits.max_bytes`): 8,192 tokens of a GPT-2 take 0.9 GB.
"""

# Families with unused rows for padding at the start of the position table.
_PADDING_FIRST = {
    *("camembert", "data2vec-text", "esm", "ibert", "longformer", "luke", "mpnet"),
    *("roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"),
}

_NEWER = "A newer version of attnviz and transformers may support it."


def read_json(file: Path, name: str) -> dict[str, Any]:
    """Read a small JSON file that contains an object.

    Args:
        name: the model's name, for messages.

    Raises:
        ModelFilesDamaged: the file cannot be read, is too large, or does not contain an object.
    """
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise ModelFilesDamaged(f"{file.name} of {quoted(name)} is too large: {size:,} bytes.")
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFilesDamaged(
            f"{file.name} of {quoted(name)} cannot be read as JSON. Save the model again, or download "
            "the file again."
        ) from error
    if not isinstance(found, dict):
        raise ModelFilesDamaged(
            f"{file.name} of {quoted(name)} does not contain a JSON object. Save the model again."
        )
    return found


def facts(folder: Path, name: str) -> Facts:
    """Read `config.json` in the folder, without running code from there.

    Args:
        folder: has `config.json`, one of `IMAGE_PROCESSOR_FILES` for a vision model, and possibly
            `tokenizer_config.json`.
        name: the model's name, for messages.

    Raises:
        ModelFilesDamaged: the config cannot be read, or lacks a required value.
        ModelNotSupported: the model needs its own code, is unknown to transformers, or belongs to a family
            with attention that cannot be recorded exactly.
    """
    raw = read_json(folder / FILE, name)
    _refuse_code(raw, name)
    if "transformers_weights" in raw:  # it could name a pickle, or weights that were not counted
        raise ModelNotSupported(
            f"{FILE} of {quoted(name)} names a weights file (transformers_weights), but attnviz reads "
            "only model.safetensors. Save the model again with save_pretrained."
        )
    _check_size_limits(raw, name)
    config = _parsed(folder, raw, name)
    reason = families.refusal(config.model_type, config.to_dict())
    if reason is not None:
        raise ModelNotSupported(reason)
    shown = shown_config(config)
    if shown.model_type in families.VISION:
        found = facts_of(shown, name, processor=image_processor(folder, name))
        return found if shown is config else replace(found, part="vision_model.")
    saved = folder / "tokenizer_config.json"
    max_length = read_json(saved, name).get("model_max_length") if saved.is_file() else None
    return facts_of(config, name, max_length)


def shown_config(config: PreTrainedConfig) -> PreTrainedConfig:
    """Return the config of the model to show: the vision model for `TWO_TOWERS`, else the complete model."""
    whole: Any = config
    shown: PreTrainedConfig = whole.vision_config if config.model_type in families.TWO_TOWERS else config
    return shown


def image_processor(folder: Path, name: str) -> dict[str, Any]:
    """Return the settings of the image processor in a model's folder.

    Raises:
        ModelFilesDamaged: they are missing or cannot be read.
    """
    nested, own = (folder / file for file in IMAGE_PROCESSOR_FILES)
    found = read_json(nested, name).get("image_processor") if nested.is_file() else None
    return found if isinstance(found, dict) else read_json(own, name)


def facts_of(
    config: PreTrainedConfig,
    name: str,
    max_length: object = None,
    processor: Mapping[str, Any] | None = None,
    *,
    bounded: bool = True,
) -> Facts:
    """Return the facts in a config that transformers has parsed.

    Args:
        name: the model's name, for messages.
        max_length: the tokenizer's own maximum number of tokens, if any.
        processor: the settings from `image_processor`, for a vision model.
        bounded: True if memory limits the length of a text, in addition to the model's positions.

    Raises:
        ModelFilesDamaged: the config lacks a required value.
        ModelNotSupported: this kind of model is not supported.
    """
    if config.model_type in families.WITH_IMAGES:
        text: Any = _decoder(config) if config.model_type in families.READERS else config.get_text_config()
        found = facts_of(text, name, max_length, bounded=False)  # long texts are kept as vectors
        layers = found.layers or found.decoder_layers  # PaliGemma's decoder has no causal mask over images
        return replace(
            found, family=config.model_type, layers=0, decoder_layers=layers, images=True, expects="next",
            may_read_pairs=False, window=None,
        )  # fmt: skip
    layers, decoder_layers = _layers(config, name)
    first, second = _stack_configs(config)
    heads, d_model = _size(first, "num_attention_heads", name), _size(first, "hidden_size", name)
    decoder_heads = second.num_attention_heads if second is not config else heads
    if getattr(config, "decoder_attention_heads", decoder_heads) != heads and config.is_encoder_decoder:
        raise ModelNotSupported(
            f"{quoted(name)} has different numbers of heads in its encoder and its decoder; attnviz requires "
            "the same number in every layer."
        )
    others = families.without_weights(config.model_type, getattr(config, "layer_types", None) or ())
    if len(others) == layers + decoder_layers:
        raise ModelNotSupported(
            f"{quoted(name)} has no layer with attention weights: each layer is {others[0]}."
        )
    # Including cross-attention.
    all_heads = heads * (layers + (2 if layers else 1) * decoder_layers - len(others))
    grid, special = None, _special_tokens(config)
    if config.model_type in families.VISION:
        size, patch = picture_size(config, processor or {}, name), pair(config, "patch_size", name)
        grid = size[0] // patch[0], size[1] // patch[1]
    maximum = tokens_with_weights(all_heads)
    if not (layers and decoder_layers) and config.model_type not in families.LOCAL:
        vectors = 3 * d_model * 4 * (layers + decoder_layers)  # bytes per token, in float32
        maximum = max(maximum, min(MAX_TOKENS, limits.max_bytes() // 4 // vectors))
    if not bounded:
        maximum = sys.maxsize
    token_limit = grid[0] * grid[1] + len(special) if grid else _token_limit(first, max_length, maximum)
    return Facts(
        family=config.model_type,
        layers=layers,
        decoder_layers=decoder_layers,
        heads=heads,
        d_model=d_model,
        d_head=getattr(first, "head_dim", None) or d_model // heads,
        token_limit=token_limit,
        window=None if layers else _window(config),
        expects=_expects(config.architectures or (), has_decoder=bool(decoder_layers)),
        grid=grid,
        special=special if grid else (),
        without_weights=tuple(others.items()),
        may_read_pairs=not (grid or config.model_type in families.TEXT_TOWERS or decoder_layers),
    )


def _decoder(config: Any) -> PreTrainedConfig:
    """Return the decoder's config in a model of `READERS`, as if the decoder were a separate model."""
    found: Any = copy.copy(config.text_config if config.model_type == "blip" else config.decoder)
    found.is_encoder_decoder, found.is_decoder = False, True
    for size, paired_name in (
        ("num_hidden_layers", "decoder_layers"),
        ("num_attention_heads", "decoder_attention_heads"),
    ):
        setattr(found, size, getattr(found, paired_name, getattr(found, size)))
    return cast("PreTrainedConfig", found)


def picture_size(config: PreTrainedConfig, processor: Mapping[str, Any], name: str) -> tuple[int, int]:
    """Return the (height, width) in pixels of images before they are cut into patches.

    Args:
        processor: the settings from `image_processor`.
        name: the model's name, for messages.

    Raises:
        ModelFilesDamaged: the config is invalid.
        ModelNotSupported: its images have no fixed size.
    """
    if config.model_type not in families.ANY_SIZE:
        return pair(config, "image_size", name)
    size = processor.get("crop_size" if processor.get("do_center_crop") else "size")
    if isinstance(size, int) and processor.get("do_center_crop"):
        return size, size
    match size:
        case {"height": int(height), "width": int(width)} if height > 0 < width:
            return height, width
    raise ModelNotSupported(
        f"The image processor of {quoted(name)} does not resize images to a fixed size, so the "
        "number of patches varies. Set a size with height and width, or "
        "do_center_crop with a crop_size."
    )


def _special_tokens(config: PreTrainedConfig) -> tuple[str, ...]:
    """Name the tokens before an image's patches: [CLS] and registers (Darcet et al. 2024), if any."""
    registers = range(1, getattr(config, "num_register_tokens", 0) + 1)
    classes = () if config.model_type == "siglip_vision_model" else ("[CLS]",)
    return (*classes, *(f"register {number}" for number in registers))


def _refuse_code(raw: dict[str, Any], name: str) -> None:
    """Raise for a model that needs its author's Python files, which attnviz never runs."""
    own = raw.get("auto_map")
    classes = own if isinstance(own, dict) else {"AutoModel": own} if own else {}
    if any(str(auto).startswith(("AutoConfig", "AutoModel")) for auto in classes):
        raise ModelNotSupported(
            f"{quoted(name)} needs its own Python code (auto_map in its config), and attnviz runs no code "
            "from models. If transformers now supports its architecture, load it there with "
            "trust_remote_code=False, save it with save_pretrained, and open that folder."
        )


def _check_size_limits(raw: Mapping[str, Any], name: str) -> None:
    """Raise if a size in the config would make transformers build a very long list."""
    for key, value in raw.items():
        if isinstance(value, Mapping):
            _check_size_limits(value, name)
        maximum = MAX_LABELS if key == "num_labels" else MAX_LAYERS if "layer" in key else None
        if maximum is not None and isinstance(value, int) and value > maximum:
            raise ModelNotSupported(
                f"{FILE} of {quoted(name)} has {key} = {value:,}; attnviz supports at most {maximum:,}."
            )


def _parsed(folder: Path, raw: dict[str, Any], name: str) -> PreTrainedConfig:
    family = raw.get("model_type")
    if not isinstance(family, str) or not family:
        raise ModelFilesDamaged(
            f"{FILE} of {quoted(name)} has no model_type, so the kind of model is unknown. "
            "Save it with transformers' save_pretrained."
        )
    with gate:
        from transformers import CONFIG_MAPPING, AutoConfig
    if family not in CONFIG_MAPPING:
        raise ModelNotSupported(
            f"{quoted(name)} is from a family that transformers does not support: {quoted(family)}. {_NEWER}"
        )
    try:
        with gate:  # the family's own module is imported on first use
            config: PreTrainedConfig = AutoConfig.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
    except Exception as error:
        # Config classes raise different errors for invalid values, depending on the family.
        raise ModelFilesDamaged(
            f"{FILE} of {quoted(name)} has values that are invalid for the family {quoted(family)}: "
            f"{type(error).__name__}. Save the model again."
        ) from error
    return config


def is_lone_encoder(config: PreTrainedConfig) -> bool:
    """Return whether a model is the encoder of an encoder–decoder that was saved without the decoder."""
    return paired_family(config) and any(name.endswith("EncoderModel") for name in config.architectures or ())


def paired_family(config: PreTrainedConfig) -> bool:
    """Return whether a family has an encoder and a decoder, even if this model has only one of them."""
    with gate:
        from transformers.models.auto import modeling_auto
    paired = modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
    return config.is_encoder_decoder or config.model_type in paired


def _layers(config: PreTrainedConfig, name: str) -> tuple[int, int]:
    """Return (encoder layers, decoder layers)."""
    with gate:
        from transformers.models.auto import modeling_auto
    first, second = _stack_configs(config)
    family, layers = config.model_type, _size(first, "num_hidden_layers", name)
    if config.is_encoder_decoder and not is_lone_encoder(config):
        sizes = ("decoder_layers", "num_decoder_layers", "num_hidden_layers")
        return layers, _size(second, next(size for size in sizes if hasattr(second, size)), name)
    if getattr(config, "is_decoder", False):
        return 0, layers
    if paired_family(config):
        return layers, 0
    encoders = {*families.VISION, "siglip_text_model"}
    if family in encoders or family in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return layers, 0
    unmasked = getattr(config, "use_bidirectional_attention", None) is True  # EmbeddingGemma
    if unmasked or getattr(config, "is_causal", None) is False or family == "bert-generation":
        return layers, 0
    language_models = ("clip_text_model", "_text")  # in CLIP and in vision-language models
    if family.endswith(language_models) or family in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return 0, layers  # causal attention, as in a decoder
    raise ModelNotSupported(
        f"Models of the family {quoted(family)} are not supported: attnviz supports masked, causal and "
        "encoder–decoder language models, and these vision families: "
        f"{', '.join(sorted(families.VISION))}."
    )


def tokens_with_weights(heads: int) -> int:
    """Return the maximum number of tokens for which weights are stored, given the total number of heads."""
    return max(ALWAYS_TOKENS, isqrt(MAX_ATTENTION_WEIGHTS // heads))


def _stack_configs(config: PreTrainedConfig) -> tuple[PreTrainedConfig, PreTrainedConfig]:
    """Return the configs of the encoder and of the decoder; only T5Gemma has different ones."""
    whole: Any = config
    return (whole.encoder, whole.decoder) if config.model_type == "t5gemma" else (config, config)


def _token_limit(config: PreTrainedConfig, max_length: object, maximum: int) -> int:
    """Return the size of the position table or the tokenizer's limit, reduced if necessary to save memory."""
    names = ("max_position_embeddings", "max_seq_len", "max_encoder_position_embeddings")  # usual, MPT, LED
    table = next((size for name in names if (size := getattr(config, name, None))), None)
    # Up to this length, a BigBird decoder computes full attention.
    if getattr(config, "attention_type", None) == "block_sparse" and config.is_decoder:
        table = min(table or maximum, (5 + 2 * config.num_random_blocks) * config.block_size)
    if type(table) is int and table > 0:
        unused = (config.pad_token_id or 0) + 1 if config.model_type in _PADDING_FIRST else 0
        return max(1, min(table - unused, maximum))
    tokenizer_limit = max_length if isinstance(max_length, int | float) and max_length >= 1 else maximum
    return int(min(tokenizer_limit, maximum))


def _window(config: PreTrainedConfig) -> int | None:
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ("sliding_attention",))
    return window if type(window) is int and window > 0 and kinds == {"sliding_attention"} else None


def pair(config: PreTrainedConfig, attribute: str, name: str) -> tuple[int, int]:
    """Return a config value as (height, width); it may be a single number.

    Raises:
        ModelFilesDamaged: the config is invalid.
    """
    value = getattr(config, attribute, None)
    both = tuple(value) if isinstance(value, list | tuple) else (value, value)
    if len(both) != 2 or not all(type(size) is int and size > 0 for size in both):
        raise _invalid_value(attribute, name)
    return both


def _size(config: PreTrainedConfig, attribute: str, name: str) -> int:
    value = getattr(config, attribute, {})
    if isinstance(value, dict | list):
        raise ModelNotSupported(
            f"Models of the family {quoted(config.model_type)} are not supported: their configs have no "
            f"{attribute}, or several values of it."
        )
    if type(value) is not int or value < 1:
        raise _invalid_value(attribute, name)
    return value


def _invalid_value(attribute: str, name: str) -> ModelFilesDamaged:
    return ModelFilesDamaged(
        f"{FILE} of {quoted(name)} has no valid {attribute}, which attnviz needs. Save the model again."
    )


def writes(architectures: Sequence[str]) -> bool:
    """Return whether transformers' class names include a decoder with a language-model head."""
    heads = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "MTModel")
    return any(name.endswith(heads) for name in architectures)


def _expects(architectures: Sequence[str], has_decoder: bool) -> Expects | None:
    """Return the kind of tokens that the saved model's head predicts, from transformers' class names."""
    if has_decoder:
        return "next" if writes(architectures) else None
    masked = ("ForMaskedLM", "BertForPreTraining")
    return "masked" if any(name.endswith(masked) for name in architectures) else None
