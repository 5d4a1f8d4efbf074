"""The configuration and the parameter names of a published BERT."""

import json
from dataclasses import dataclass, fields
from pathlib import Path

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
    """The sizes of a BERT, named as in its `config.json`.

    Attributes:
        vocab_size: Vocabulary size.
        hidden_size: d_model.
        num_hidden_layers, num_attention_heads: Number of layers, and of heads per layer.
        intermediate_size: d_feed_forward.
        max_position_embeddings: Maximum number of tokens.
        type_vocab_size: Number of segments.
        layer_norm_eps: ε of the layer norms.
    """

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12


def read_config(folder: Path) -> BertConfig:
    """Return the sizes in a folder's `config.json`."""
    published = json.loads((folder / "config.json").read_text("utf-8"))
    return BertConfig(**{field.name: published[field.name] for field in fields(BertConfig)})


def published_name(name: str) -> str:
    """Return the published name of a parameter of `Bert`."""
    for ours, theirs in PUBLISHED_NAMES:
        name = name.replace(ours, theirs)
    return name
