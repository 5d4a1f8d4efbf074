"""Read and check a published BERT's config and weights, and rename its tensors."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from attnviz.errors import ModelFilesDamaged, ModelNotSupported

# The first value is the default of a setting that config.json omits.
REPRESENTED: Mapping[str, tuple[object, ...]] = {
    "position_embedding_type": ("absolute",),
    "hidden_act": ("gelu", "relu"),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "quantization_config": (None,),
}

NUMBERS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)

PUBLISHED_NAMES = (
    ("embeddings.words", "embeddings.word_embeddings"),
    ("embeddings.positions.table", "embeddings.position_embeddings.weight"),
    ("embeddings.segments", "embeddings.token_type_embeddings"),
    ("embeddings.norm", "embeddings.LayerNorm"),
    ("encoder.layers", "encoder.layer"),
    ("attention.to_query", "attention.self.query"),
    ("attention.to_key", "attention.self.key"),
    ("attention.to_value", "attention.self.value"),
    ("attention.to_output", "attention.output.dense"),
    ("attention_add_norm.norm", "attention.output.LayerNorm"),
    ("feed_forward.expand", "intermediate.dense"),
    ("feed_forward.contract", "output.dense"),
    ("feed_forward_add_norm.norm", "output.LayerNorm"),
)


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """The sizes of a BERT, with the names of its `config.json`.

    Attributes:
        vocab_size: Vocabulary size.
        hidden_size: d_model.
        num_hidden_layers, num_attention_heads: Number of layers, and of heads per layer.
        intermediate_size: d_feed_forward.
        max_position_embeddings: Maximum number of tokens.
        type_vocab_size: Number of segments.
        hidden_act: Activation of the feed-forward networks, "gelu" or "relu".
        layer_norm_eps: ε of the layer norms.
    """

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int = 2
    hidden_act: str = "gelu"
    layer_norm_eps: float = 1e-12


def read_config(folder: Path) -> BertConfig:
    """Read and check `config.json`.

    Raises:
        ModelFilesDamaged: the file is missing or unreadable, or has an invalid size.
        ModelNotSupported: the model is not a BERT, or an unsupported variant.
    """
    file = folder / "config.json"
    try:
        published = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFilesDamaged(f"{file} is missing or unreadable. Download the model again.") from error
    if not isinstance(published, dict):
        raise ModelFilesDamaged(f"{file} is not a JSON object. Download the model again.")
    _refuse(file, "model_type", published.get("model_type"), ("bert",))
    for name, values in REPRESENTED.items():
        _refuse(file, name, published.get(name, values[0]), values)
    settings = {field.name: published.get(field.name, field.default) for field in fields(BertConfig)}
    _check_sizes(file, settings)
    return BertConfig(**settings)


def read_tensors(folder: Path, layers: int) -> dict[str, Tensor]:
    """Read `model.safetensors` in float32, with normalized names.

    Tensors after the encoder (pooler, classifier) are ignored.

    Args:
        layers: Number of layers in `config.json`.

    Raises:
        ModelFilesDamaged: the file is missing, unreadable, or has another number of layers.
        ModelNotSupported: the weights are quantized.
    """
    file = folder / "model.safetensors"
    try:
        stored = load_file(file)
    except (OSError, SafetensorError) as error:
        raise ModelFilesDamaged(
            f"{file} is missing or unreadable; no other weight file is supported. Download the model again."
        ) from error
    tensors = {_one_spelling(name): tensor for name, tensor in stored.items()}
    tensors.pop("embeddings.position_ids", None)
    tensors = {name: t for name, t in tensors.items() if name.startswith(("embeddings.", "encoder."))}
    for name, tensor in tensors.items():
        if tensor.dtype not in NUMBERS:
            raise ModelNotSupported(f"{file} stores {name} as {tensor.dtype}, which is not supported.")
    present = {name.split(".")[2] for name in tensors if name.startswith("encoder.layer.")}
    if len(present) != layers:
        raise ModelFilesDamaged(f"{file} has {len(present)} layers, but config.json says {layers}.")
    return {name: tensor.float() for name, tensor in tensors.items()}


def in_our_words(tensors: Mapping[str, Tensor], sizes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Rename the published tensors to our parameters' names.

    Args:
        tensors: Tensors by published name.
        sizes: Expected shapes by our name.

    Raises:
        ModelFilesDamaged: a tensor is missing or has the wrong shape.
        ModelNotSupported: there is an unknown tensor.
    """
    found = {}
    for name, size in sizes.items():
        published = published_name(name)
        if published not in tensors:
            raise ModelFilesDamaged(f"model.safetensors lacks {published}. Download the model again.")
        shape = tuple(tensors[published].shape)
        if shape != size:
            raise ModelFilesDamaged(f"{published} has shape {shape}; config.json requires {size}.")
        found[name] = tensors[published]
    unknown = tensors.keys() - {published_name(name) for name in sizes}
    if unknown:
        raise ModelNotSupported(f"model.safetensors has the unknown tensor {min(unknown)}.")
    return found


def published_name(name: str) -> str:
    """Return the published name of our parameter `name`."""
    for ours, theirs in PUBLISHED_NAMES:
        name = name.replace(ours, theirs)
    return name


def _one_spelling(name: str) -> str:
    """Normalize a name: some files add "bert."; old ones use gamma and beta for a norm's weight and bias."""
    name = name.removeprefix("bert.")
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _refuse(file: Path, name: str, value: object, represented: tuple[object, ...]) -> None:
    if value not in represented:
        known = " or ".join(repr(known) for known in represented)
        raise ModelNotSupported(f"{file} has {name} = {value!r}; only {known} is supported.")


def _check_sizes(file: Path, settings: Mapping[str, Any]) -> None:
    for name in settings.keys() - {"hidden_act"}:
        value, kind = settings[name], float if name == "layer_norm_eps" else int
        if not (isinstance(value, kind) and value > 0):
            raise ModelFilesDamaged(f"{file} has no valid {name}. Download the model again.")
    heads, size = settings["num_attention_heads"], settings["hidden_size"]
    if size % heads:
        raise ModelFilesDamaged(
            f"{file}: hidden_size = {size} is not divisible by num_attention_heads = {heads}."
        )
