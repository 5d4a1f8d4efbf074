"""Read a published BERT's config and weights, check them, and map the tensors' names to ours."""

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

# A setting that is not written in config.json has its first value.
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
    """The sizes of a BERT, under the names of its `config.json`.

    Attributes:
        vocab_size: how many different tokens there are.
        hidden_size: d_model.
        num_hidden_layers, num_attention_heads: how many layers, and heads in each.
        intermediate_size: d_feed_forward.
        max_position_embeddings: how many tokens the model can read.
        type_vocab_size: the number of segments.
        hidden_act: the feed-forward activation, "gelu" or "relu".
        layer_norm_eps: the ε of the layer norms.
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
    """`config.json`, checked.

    Raises:
        ModelFilesDamaged: the file is missing or unreadable, or a size in it makes no sense.
        ModelNotSupported: it describes another kind of model, or a variant of BERT that is built otherwise.
    """
    file = folder / "config.json"
    try:
        published = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFilesDamaged(f"{file} is missing or unreadable. Download the model again.") from error
    if not isinstance(published, dict):
        raise ModelFilesDamaged(f"{file} does not hold a table of settings. Download the model again.")
    _refuse(file, "model_type", published.get("model_type"), ("bert",))
    for name, values in REPRESENTED.items():
        _refuse(file, name, published.get(name, values[0]), values)
    settings = {field.name: published.get(field.name, field.default) for field in fields(BertConfig)}
    _check_sizes(file, settings)
    return BertConfig(**settings)


def read_tensors(folder: Path, layers: int) -> dict[str, Tensor]:
    """`model.safetensors` in float32, under one spelling of the published names.

    What follows the encoder (pooler, classifier) is not read.

    Args:
        layers: how many layers `config.json` speaks of.

    Raises:
        ModelFilesDamaged: the file is missing, unreadable, or has another number of layers.
        ModelNotSupported: its numbers are quantized.
    """
    file = folder / "model.safetensors"
    try:
        stored = load_file(file)
    except (OSError, SafetensorError) as error:
        raise ModelFilesDamaged(
            f"{file} is missing or unreadable; weights are read from no other file. Download the model again."
        ) from error
    tensors = {_one_spelling(name): tensor for name, tensor in stored.items()}
    tensors.pop("embeddings.position_ids", None)
    tensors = {name: t for name, t in tensors.items() if name.startswith(("embeddings.", "encoder."))}
    for name, tensor in tensors.items():
        if tensor.dtype not in NUMBERS:
            raise ModelNotSupported(f"{file} stores {name} as {tensor.dtype}, which is not a plain number.")
    present = {name.split(".")[2] for name in tensors if name.startswith("encoder.layer.")}
    if len(present) != layers:
        raise ModelFilesDamaged(f"{file} holds {len(present)} layers; config.json speaks of {layers}.")
    return {name: tensor.float() for name, tensor in tensors.items()}


def in_our_words(tensors: Mapping[str, Tensor], sizes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """The published tensors under the names of our own parameters.

    Args:
        tensors: published name → numbers.
        sizes: our name → the shape that our parameter needs.

    Raises:
        ModelFilesDamaged: a tensor is missing or has the wrong shape.
        ModelNotSupported: there is a tensor for which our BERT has no place.
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
        raise ModelNotSupported(f"model.safetensors has {min(unknown)}, for which this BERT has no place.")
    return found


def published_name(name: str) -> str:
    """What the published files call our parameter `name`."""
    for ours, theirs in PUBLISHED_NAMES:
        name = name.replace(ours, theirs)
    return name


def _one_spelling(name: str) -> str:
    """Some files put "bert." before each name; the oldest use gamma and beta for a norm's weight and bias."""
    name = name.removeprefix("bert.")
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


def _refuse(file: Path, name: str, value: object, represented: tuple[object, ...]) -> None:
    if value not in represented:
        known = " or ".join(repr(known) for known in represented)
        raise ModelNotSupported(f"{file} has {name} = {value!r}; this BERT can only be built with {known}.")


def _check_sizes(file: Path, settings: Mapping[str, Any]) -> None:
    for name in settings.keys() - {"hidden_act"}:
        value, kind = settings[name], float if name == "layer_norm_eps" else int
        if not (isinstance(value, kind) and value > 0):
            raise ModelFilesDamaged(f"{file} gives no usable {name}. Download the model again.")
    heads, size = settings["num_attention_heads"], settings["hidden_size"]
    if size % heads:
        raise ModelFilesDamaged(
            f"{file} speaks of {heads} heads, which cannot share vectors of {size} numbers equally."
        )
