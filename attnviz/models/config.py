"""What a model's config contains, before any weight is read: its family, its sizes, and what it can do."""

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

OF_PICTURES = ("processor_config.json", "preprocessor_config.json")
"""The files that describe how pictures are prepared; the first one is nested, and takes precedence."""

MAX_BYTES = 10_000_000
"""The largest file beside the weights that is read as a whole; label lists of 22,000 classes take 2 MB."""

MAX_LAYERS = 10_000
MAX_LABELS = 100_000
"""The most layers and labels of a config: transformers makes a list of each."""

ALWAYS_TOKENS = 1024
MAX_ATTENTION_WEIGHTS = 2**28
"""The most weights, layers × heads × tokens², of one text of more than `ALWAYS_TOKENS`: they take 1.1 GB.

A model of 12 × 12 heads reads up to 1,365 tokens. One of 32 × 32 heads reads 1,024, which take 4.3 GB.
"""

MAX_TOKENS = 8192
"""The most tokens of one text of which queries, keys and values are kept, and no weights.

They may take a quarter of what a model may take (`limits.max_bytes`): a GPT-2 reads 8,192, which take 0.9 GB.
"""

# Their first position comes after padding's, so their tables have rows that no text reaches.
_BEHIND_PADDING = {
    *("camembert", "data2vec-text", "esm", "ibert", "longformer", "luke", "mpnet"),
    *("roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"),
}

_NEWER = "Perhaps it needs a newer version of attnviz, with a newer transformers."


def read_json(file: Path, name: str) -> dict[str, Any]:
    """A small JSON file that holds one table.

    Args:
        name: what a message calls the model.

    Raises:
        ModelFilesDamaged: it cannot be read, is far too long, or is something else.
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
            f"{file.name} of {quoted(name)} holds no table of settings. Save the model again."
        )
    return found


def facts(folder: Path, name: str) -> Facts:
    """Read `config.json` in the folder. Runs no code from there.

    Args:
        folder: with `config.json`, of a model that sees pictures one of `OF_PICTURES`, and
            `tokenizer_config.json` if there is one.
        name: what a message calls the model.

    Raises:
        ModelFilesDamaged: the config cannot be read, or lacks what every model has.
        ModelNotSupported: the model brings code of its own, is not known to transformers, or is of a family
            with attention that cannot be shown exactly.
    """
    raw = read_json(folder / FILE, name)
    _refuse_code(raw, name)
    if "transformers_weights" in raw:  # it could name a pickle, or other weights than those that were counted
        raise ModelNotSupported(
            f"{FILE} of {quoted(name)} names a file of weights (transformers_weights), and attnviz reads "
            "none but model.safetensors. Save the model again with save_pretrained."
        )
    _check_size_limits(raw, name)
    config = _understood(folder, raw, name)
    reason = families.refusal(config.model_type, config.to_dict())
    if reason is not None:
        raise ModelNotSupported(reason)
    half = shown_half(config)
    if half.model_type in families.SEES:
        found = facts_of(half, name, processor=image_processor(folder, name))
        return found if half is config else replace(found, part="vision_model.")
    saved = folder / "tokenizer_config.json"
    longest = read_json(saved, name).get("model_max_length") if saved.is_file() else None
    return facts_of(config, name, longest)


def shown_half(config: PreTrainedConfig) -> PreTrainedConfig:
    """What is shown of a saved model: of one of `TWO_TOWERS` the half that sees, of any other the whole."""
    whole: Any = config
    half: PreTrainedConfig = whole.vision_config if config.model_type in families.TWO_TOWERS else config
    return half


def image_processor(folder: Path, name: str) -> dict[str, Any]:
    """How the pictures of the model in a folder are prepared.

    Raises:
        ModelFilesDamaged: no readable file describes it.
    """
    nested, own = (folder / file for file in OF_PICTURES)
    found = read_json(nested, name).get("image_processor") if nested.is_file() else None
    return found if isinstance(found, dict) else read_json(own, name)


def facts_of(
    config: PreTrainedConfig,
    name: str,
    longest: object = None,
    processor: Mapping[str, Any] | None = None,
    *,
    bounded: bool = True,
) -> Facts:
    """The facts in a config that transformers has parsed.

    Args:
        name: what a message calls the model.
        longest: the tokenizer's own maximum number of tokens, if it has one.
        processor: of a model that sees pictures, how they are prepared, as `image_processor` returns it.
        bounded: whether memory bounds the length of a text, and not only the model's positions.

    Raises:
        ModelFilesDamaged: it lacks what every model has.
        ModelNotSupported: the model is of a kind that is not shown.
    """
    if config.model_type in families.WITH_IMAGES:
        text: Any = _decoder(config) if config.model_type in families.READERS else config.get_text_config()
        found = facts_of(text, name, longest, bounded=False)  # long texts are kept as vectors
        layers = found.layers or found.decoder_layers  # PaliGemma's attend to all pictures, and yet decode
        return replace(
            found, family=config.model_type, layers=0, decoder_layers=layers, images=True, joins=False,
            expects="next", window=None,
        )  # fmt: skip
    layers, decoder_layers = _layers(config, name)
    first, second = _halves(config)
    heads, d_model = _size(first, "num_attention_heads", name), _size(first, "hidden_size", name)
    heads_beside = second.num_attention_heads if second is not config else heads
    if getattr(config, "decoder_attention_heads", heads_beside) != heads and config.is_encoder_decoder:
        raise ModelNotSupported(
            f"{quoted(name)} has more heads in one half than in the other; attnviz shows models with as many "
            "in every layer."
        )
    others = families.without_weights(config.model_type, getattr(config, "layer_types", None) or ())
    if len(others) == layers + decoder_layers:
        raise ModelNotSupported(f"{quoted(name)} has no layer with attention weights: each is {others[0]}.")
    # Cross-attention's, too.
    all_heads = heads * (layers + (2 if layers else 1) * decoder_layers - len(others))
    grid, beside = None, _beside(config)
    if config.model_type in families.SEES:
        size, patch = picture_size(config, processor or {}, name), pair(config, "patch_size", name)
        grid = size[0] // patch[0], size[1] // patch[1]
    maximum = tokens_with_weights(all_heads)
    if not (layers and decoder_layers) and config.model_type not in families.LOCAL:
        vectors = 3 * d_model * 4 * (layers + decoder_layers)  # of a token, in float32
        maximum = max(maximum, min(MAX_TOKENS, limits.max_bytes() // 4 // vectors))
    if not bounded:
        maximum = sys.maxsize
    token_limit = grid[0] * grid[1] + len(beside) if grid else _token_limit(first, longest, maximum)
    return Facts(
        family=config.model_type,
        layers=layers,
        decoder_layers=decoder_layers,
        heads=heads,
        d_model=d_model,
        d_head=getattr(first, "head_dim", None) or d_model // heads,
        token_limit=token_limit,
        window=None if layers else _window(config),
        expects=_expects(config.architectures or (), reads_on=bool(decoder_layers)),
        grid=grid,
        beside=beside if grid else (),
        without_weights=tuple(others.items()),
        joins=not (grid or config.model_type in families.TEXT_TOWERS or decoder_layers),
    )


def _decoder(config: Any) -> PreTrainedConfig:
    """The config of the decoder of one of `READERS`, as if it were a model of its own."""
    found: Any = copy.copy(config.text_config if config.model_type == "blip" else config.decoder)
    found.is_encoder_decoder, found.is_decoder = False, True
    for size, of_pair in (
        ("num_hidden_layers", "decoder_layers"),
        ("num_attention_heads", "decoder_attention_heads"),
    ):
        setattr(found, size, getattr(found, of_pair, getattr(found, size)))
    return cast("PreTrainedConfig", found)


def picture_size(config: PreTrainedConfig, processor: Mapping[str, Any], name: str) -> tuple[int, int]:
    """(height, width) in pixels that each picture has when a model cuts it into patches.

    Args:
        processor: how its pictures are prepared, as `image_processor` returns it.
        name: what a message calls the model.

    Raises:
        ModelFilesDamaged: the config is invalid.
        ModelNotSupported: its pictures have no size in common.
    """
    if config.model_type not in families.OF_ANY_SIZE:
        return pair(config, "image_size", name)
    size = processor.get("crop_size" if processor.get("do_center_crop") else "size")
    if isinstance(size, int) and processor.get("do_center_crop"):
        return size, size
    match size:
        case {"height": int(height), "width": int(width)} if height > 0 < width:
            return height, width
    raise ModelNotSupported(
        f"The image processor of {quoted(name)} brings pictures to no size that all have in common, so each "
        "would be cut into another number of patches. Give it a size with height and width, or "
        "do_center_crop with a crop_size."
    )


def _beside(config: PreTrainedConfig) -> tuple[str, ...]:
    """The tokens before a picture's patches: [CLS], and registers (Darcet et al. 2024). SigLIP has none."""
    registers = range(1, getattr(config, "num_register_tokens", 0) + 1)
    classes = () if config.model_type == "siglip_vision_model" else ("[CLS]",)
    return (*classes, *(f"register {number}" for number in registers))


def _refuse_code(raw: dict[str, Any], name: str) -> None:
    """Refuse a model that is computed by Python files of its author's, which are never run here."""
    own = raw.get("auto_map")
    classes = own if isinstance(own, dict) else {"AutoModel": own} if own else {}
    if any(str(auto).startswith(("AutoConfig", "AutoModel")) for auto in classes):
        raise ModelNotSupported(
            f"{quoted(name)} needs Python code that comes with it (auto_map in its config), and attnviz runs "
            "none of it. If transformers supports its architecture by now, load it there with "
            "trust_remote_code=False, save it with save_pretrained, and open that folder."
        )


def _check_size_limits(raw: Mapping[str, Any], name: str) -> None:
    """Refuse numbers of which transformers makes lists that take forever."""
    for key, value in raw.items():
        if isinstance(value, Mapping):
            _check_size_limits(value, name)
        maximum = MAX_LABELS if key == "num_labels" else MAX_LAYERS if "layer" in key else None
        if maximum is not None and isinstance(value, int) and value > maximum:
            raise ModelNotSupported(
                f"{FILE} of {quoted(name)} says {value:,} of {key}; attnviz reads at most {maximum:,}."
            )


def _understood(folder: Path, raw: dict[str, Any], name: str) -> PreTrainedConfig:
    family = raw.get("model_type")
    if not isinstance(family, str) or not family:
        raise ModelFilesDamaged(
            f"{FILE} of {quoted(name)} has no model_type, so it is not known what kind of model it is. "
            "Save it with transformers' save_pretrained."
        )
    with gate:
        from transformers import CONFIG_MAPPING, AutoConfig
    if family not in CONFIG_MAPPING:
        raise ModelNotSupported(
            f"{quoted(name)} is of a kind that transformers does not know: {quoted(family)}. {_NEWER}"
        )
    try:
        with gate:  # the family's own module is imported on first use
            config: PreTrainedConfig = AutoConfig.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
    except Exception as error:
        # What a config class raises for values that make no sense is its own affair, and differs by family.
        raise ModelFilesDamaged(
            f"{FILE} of {quoted(name)} holds values that the family {quoted(family)} cannot have: "
            f"{type(error).__name__}. Save the model again."
        ) from error
    return config


def encodes_alone(config: PreTrainedConfig) -> bool:
    """Whether the encoder of an encoder–decoder was saved without its decoder."""
    return paired_family(config) and any(name.endswith("EncoderModel") for name in config.architectures or ())


def paired_family(config: PreTrainedConfig) -> bool:
    """Whether models of this family have an encoder and a decoder, whether or not this one has both."""
    with gate:
        from transformers.models.auto import modeling_auto
    paired = modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
    return config.is_encoder_decoder or config.model_type in paired


def _layers(config: PreTrainedConfig, name: str) -> tuple[int, int]:
    """(encoder layers, decoder layers)."""
    with gate:
        from transformers.models.auto import modeling_auto
    first, second = _halves(config)
    family, layers = config.model_type, _size(first, "num_hidden_layers", name)
    if config.is_encoder_decoder and not encodes_alone(config):
        sizes = ("decoder_layers", "num_decoder_layers", "num_hidden_layers")
        return layers, _size(second, next(size for size in sizes if hasattr(second, size)), name)
    if getattr(config, "is_decoder", False):
        return 0, layers
    if paired_family(config):
        return layers, 0
    encoders = {*families.SEES, "siglip_text_model"}
    if family in encoders or family in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        return layers, 0
    unmasked = getattr(config, "use_bidirectional_attention", None) is True  # EmbeddingGemma
    if unmasked or getattr(config, "is_causal", None) is False or family == "bert-generation":
        return layers, 0
    language_models = ("clip_text_model", "_text")  # of CLIP, and of models that read pictures, too
    if family.endswith(language_models) or family in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return 0, layers  # each of its tokens sees those before it, as a decoder's do
    raise ModelNotSupported(
        f"Models of the family {quoted(family)} are not shown: attnviz shows those that fill gaps in a text, "
        "continue it, or translate it, and those that see pictures: "
        f"{', '.join(sorted(families.SEES))}."
    )


def tokens_with_weights(heads: int) -> int:
    """How many tokens a text may have of which the weights of so many heads, over all layers, are kept."""
    return max(ALWAYS_TOKENS, isqrt(MAX_ATTENTION_WEIGHTS // heads))


def _halves(config: PreTrainedConfig) -> tuple[PreTrainedConfig, PreTrainedConfig]:
    """The configs of the encoder and of the decoder, or of both: only T5Gemma has two."""
    whole: Any = config
    return (whole.encoder, whole.decoder) if config.model_type == "t5gemma" else (config, config)


def _token_limit(config: PreTrainedConfig, longest: object, maximum: int) -> int:
    """The size of its position table, or else its tokenizer's limit; or less, to save memory."""
    names = ("max_position_embeddings", "max_seq_len", "max_encoder_position_embeddings")  # MPT's, LED's
    table = next((size for name in names if (size := getattr(config, name, None))), None)
    if getattr(config, "attention_type", None) == "block_sparse" and config.is_decoder:  # as if it were none
        table = min(table or maximum, (5 + 2 * config.num_random_blocks) * config.block_size)
    if type(table) is int and table > 0:
        unreachable = (config.pad_token_id or 0) + 1 if config.model_type in _BEHIND_PADDING else 0
        return max(1, min(table - unreachable, maximum))
    declared = longest if isinstance(longest, int | float) and longest >= 1 else maximum
    return int(min(declared, maximum))


def _window(config: PreTrainedConfig) -> int | None:
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ("sliding_attention",))
    return window if type(window) is int and window > 0 and kinds == {"sliding_attention"} else None


def pair(config: PreTrainedConfig, attribute: str, name: str) -> tuple[int, int]:
    """(height, width) of what a config gives as one number where they are equal.

    Raises:
        ModelFilesDamaged: the config is invalid.
    """
    value = getattr(config, attribute, None)
    both = tuple(value) if isinstance(value, list | tuple) else (value, value)
    if len(both) != 2 or not all(type(size) is int and size > 0 for size in both):
        raise _senseless(attribute, name)
    return both


def _size(config: PreTrainedConfig, attribute: str, name: str) -> int:
    value = getattr(config, attribute, {})
    if isinstance(value, dict | list):
        raise ModelNotSupported(
            f"Models of the family {quoted(config.model_type)} are not shown: their configs have no "
            f"{attribute}, or several."
        )
    if type(value) is not int or value < 1:
        raise _senseless(attribute, name)
    return value


def _senseless(attribute: str, name: str) -> ModelFilesDamaged:
    return ModelFilesDamaged(
        f"{FILE} of {quoted(name)} says nothing sensible about {attribute}, which every model with attention "
        "has. Save the model again."
    )


def writes(architectures: Sequence[str]) -> bool:
    """Whether a model was saved with the head of a decoder, by transformers' names of its classes."""
    heads = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "MTModel")
    return any(name.endswith(heads) for name in architectures)


def _expects(architectures: Sequence[str], reads_on: bool) -> Expects | None:
    """Which tokens the model that was saved has a head for, by transformers' names of its classes."""
    if reads_on:
        return "next" if writes(architectures) else None
    masked = ("ForMaskedLM", "BertForPreTraining")
    return "masked" if any(name.endswith(masked) for name in architectures) else None
