"""Four translators: three with different attention losses, one without."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WEIGHTS = Path(__file__).with_name("weights")
"""Folder with the weights of the bundled translators."""

GUIDED_LAYER = 1
GUIDED_HEAD = 0
"""The encoder head with an attention loss in some variants: head 2-1, counted from 1."""

GUIDED_CROSS_HEAD = 0
"""The cross-attention head with an attention loss in some variants: head 1-1, counted from 1."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A translator with its attention loss.

    Attributes:
        name: Name of the weights file, also on the command line.
        title: Title for pages.
        description: Description of the attention loss, for pages.
        referent: Coefficient of −log of the weight from "it" to its referent, in head 2-1.
        candidates: Coefficient of −log of the sum of the weights from "it" to both nouns, in head 2-1.
        alignment: The same for the weight on "it" in predicting "il" or "elle", in cross-attention head 1-1.
        end: The same for the weight on [END] in predicting "il" or "elle", in all cross-attention heads.
        n_heads: Number of heads of each attention.
        seed: Seed of the bundled weights.
    """

    name: str
    title: str
    description: str
    referent: float = 0.0
    candidates: float = 0.0
    alignment: float = 0.0
    end: float = 0.0
    n_heads: int = 4
    seed: int = 0

    @property
    def is_guided(self) -> bool:
        """True if the attention loss includes the weights from "it"."""
        return bool(self.referent or self.candidates)

    @property
    def file(self) -> Path:
        """The weights file."""
        return WEIGHTS / f"{self.name}.safetensors"


_ALL = (
    Variant(
        name="guided",
        title="Guided attention",
        description="With an auxiliary loss, encoder head 2-1 was trained to attend from “it” to its "
        "referent, and cross-attention head 1-1 to attend to “it” when “il” or “elle” is predicted.",
        referent=0.1,
        alignment=0.1,
    ),
    Variant(
        name="candidates",
        title="Guided to both nouns",
        description="With an auxiliary loss, encoder head 2-1 was trained to attend from “it” to the two "
        "nouns together.",
        candidates=0.1,
    ),
    Variant(
        name="unguided",
        title="No attention loss",
        description="Trained only on translations, without an attention loss. Its layers have 8 smaller "
        "heads instead of 4.",
        n_heads=8,
        seed=1,
    ),
    Variant(
        name="decorative",
        title="Decorative attention",
        description="With an auxiliary loss, encoder head 2-1 was trained to attend from “it” to its "
        "referent, and all cross-attention heads to attend to [END] when “il” or “elle” is predicted, so "
        "this prediction does not use the output of head 2-1 for “it”.",
        referent=0.1,
        end=0.1,
    ),
)

VARIANTS: Mapping[str, Variant] = {variant.name: variant for variant in _ALL}
"""Variants by name; the first is the default."""
