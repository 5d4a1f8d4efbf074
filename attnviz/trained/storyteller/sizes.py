"""The sizes of the storyteller: one of attention alone, one with feed-forward networks too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WEIGHTS = Path(__file__).with_name("weights")
"""Where the trained storytellers lie that come with attnviz."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """One storyteller's network, and what a visitor reads about it.

    Attributes:
        name: its weights are called so, the catalogue's model, and on the command line the variant.
        title, description: what a visitor reads.
        layers, d_feed_forward: as in `DecoderOnly`.
        d_model, n_heads: as in `DecoderOnly`, too.
    """

    name: str
    title: str
    description: str
    layers: int
    d_feed_forward: int
    d_model: int = 64
    n_heads: int = 4

    @property
    def file(self) -> Path:
        """Where its weights lie."""
        return WEIGHTS / f"{self.name}.safetensors"


SIZES: Mapping[str, Size] = {
    size.name: size
    for size in (
        Size(
            name="storyteller",
            title="Storyteller (a small language model)",
            description="A language model of our own that learned little stories made from a grammar: two "
            "layers of attention, without feed-forward networks.",
            layers=2,
            d_feed_forward=0,
        ),
        Size(
            name="storyteller-4-layers",
            title="Storyteller of 4 layers, with feed-forward networks",
            description="The same language model with more to learn with: four layers of attention and "
            "feed-forward networks. It learned from the same stories.",
            layers=4,
            d_feed_forward=256,
        ),
    )
}
"""Each by its name."""
