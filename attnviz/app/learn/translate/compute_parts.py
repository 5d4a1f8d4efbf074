"""What is a translator made of? Each part, and how many learned numbers it holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch import nn

from attnviz.capture import loading
from attnviz.transformer.add_norm import AddNorm
from attnviz.transformer.encoder_decoder import EncoderDecoder


@dataclass(frozen=True)
class Part:
    """One part of the model: what it is called, and how many learned numbers it holds."""

    name: str
    parameters: int


@dataclass(frozen=True)
class Parts:
    """A model taken apart.

    Attributes:
        parts: together they are the whole model.
        english_words, french_words: how many rows the two tables have, signs like [END] included.
        d_model, d_feed_forward, n_heads: its sizes.
        encoder_layers, decoder_layers: how many of each.
    """

    parts: tuple[Part, ...]
    english_words: int
    french_words: int
    d_model: int
    d_feed_forward: int
    n_heads: int
    encoder_layers: int
    decoder_layers: int

    @property
    def parameters(self) -> int:
        """Of the whole model."""
        return sum(part.parameters for part in self.parts)

    @property
    def d_head(self) -> int:
        """The size of one head's query, key and value."""
        return self.d_model // self.n_heads


def take_apart(model: str) -> Parts:
    """Count a translator's parameters, part by part.

    Args:
        model: its name in the catalogue.

    Raises:
        ModelNotSupported, UnknownModel, ModelFilesDamaged: the model cannot be used.
    """
    translator = loading.load_translator(model).translator
    network, sizes = translator.model, translator.sizes
    return Parts(
        count(network),
        network.source_embedding.table.num_embeddings,
        network.target_embedding.table.num_embeddings,
        sizes.d_model,
        sizes.d_feed_forward,
        sizes.n_heads,
        sizes.encoder_layers,
        sizes.decoder_layers,
    )


def count(network: EncoderDecoder) -> tuple[Part, ...]:
    """The parts in the order in which a sentence passes through them, and the norms of all layers."""
    encoder, decoder = network.encoder.layers, network.decoder.layers
    return (
        _part("table of English words", [network.source_embedding]),
        _part("encoder: attention", [layer.get_submodule("attention") for layer in encoder]),
        _part("encoder: feed-forward", [layer.get_submodule("feed_forward") for layer in encoder]),
        _part("table of French words", [network.target_embedding]),
        _part("decoder: attention", [layer.get_submodule("attention") for layer in decoder]),
        _part("decoder: cross-attention", [layer.get_submodule("cross_attention") for layer in decoder]),
        _part("decoder: feed-forward", [layer.get_submodule("feed_forward") for layer in decoder]),
        _part("all Add & Norm", [module for module in network.modules() if isinstance(module, AddNorm)]),
    )


def _part(name: str, modules: Iterable[nn.Module]) -> Part:
    return Part(name, sum(values.numel() for module in modules for values in module.parameters()))
