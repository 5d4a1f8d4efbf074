"""The sizes of the storyteller: two layers of attention only, or four with feed-forward networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WEIGHTS = Path(__file__).with_name("weights")
"""Folder with the weights of the bundled storytellers."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """The sizes of a storyteller's network, with its title and description.

    Attributes:
        name: Name of the model, of its weights file, and of the variant on the command line.
        title, description: Texts for pages.
        layers, d_feed_forward, d_model, n_heads: as in `DecoderOnly`.
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
        """The weights file."""
        return WEIGHTS / f"{self.name}.safetensors"


SIZES: Mapping[str, Size] = {
    size.name: size
    for size in (
        Size(
            name="storyteller",
            title="Storyteller (a small language model)",
            description="A small language model trained on generated stories: two layers of attention, "
            "without feed-forward networks.",
            layers=2,
            d_feed_forward=0,
        ),
        Size(
            name="storyteller-4-layers",
            title="Storyteller with 4 layers and feed-forward networks",
            description="A larger model trained on the same stories as the model with two layers: four "
            "layers with attention and feed-forward networks.",
            layers=4,
            d_feed_forward=256,
        ),
    )
}
"""Sizes by name."""
