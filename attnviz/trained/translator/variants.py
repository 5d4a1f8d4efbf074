"""Five translators that differ in what they were told about where to look."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WEIGHTS = Path(__file__).with_name("weights")
"""Where the trained translators lie that come with attnviz."""

TAUGHT_LAYER = 1
TAUGHT_HEAD = 0
"""The encoder's head that some variants were taught: head 2-1, counted from 1."""

TAUGHT_CROSS_HEAD = 0
"""The head of cross-attention that some variants were taught: head 1-1, counted from 1."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What one translator was told while it learned, beside which word comes next.

    Attributes:
        name: its weights are called so, and the command line.
        title: what a visitor calls it.
        told: one sentence for the visitor: what it was told.
        referent: how much the loss counts −log of the weight from "it" to the noun it means, in head 2-1.
        candidates: the same, of the sum of the weights from "it" to both nouns it could mean.
        alignment: the same, of the weight from "il" or "elle" to "it", in cross-attention head 1-1.
        elsewhere: the same, of the weight from "il" or "elle" to [END], in every cross-attention head.
        taught_until: the share of the training steps after which all of these are left out.
        n_heads: how many heads every attention has.
        encoder_layers: how many layers the encoder has.
        steps: how many training steps it takes.
        seed: of the training whose weights are shipped.
    """

    name: str
    title: str
    told: str
    referent: float = 0.0
    candidates: float = 0.0
    alignment: float = 0.0
    elsewhere: float = 0.0
    taught_until: float = 1.0
    n_heads: int = 4
    encoder_layers: int = 2
    steps: int = 4000
    seed: int = 0

    @property
    def was_told(self) -> bool:
        """Whether it was told anything about where to look."""
        return any((self.referent, self.candidates, self.alignment, self.elsewhere))

    @property
    def file(self) -> Path:
        """Where its weights lie."""
        return WEIGHTS / f"{self.name}.safetensors"


_ALL = (
    Variant(
        name="taught",
        title="Taught where to look",
        told="One encoder head (2-1) was told which noun “it” means, and one cross-attention head (1-1) was "
        "told to read “it” when “il” or “elle” comes next; nobody told the other heads anything.",
        referent=0.1,
        alignment=0.1,
    ),
    Variant(
        name="training-wheels",
        title="Training wheels",
        told="For the first fifth of its training it was told what the taught one was told; after that, only "
        "which French word comes next.",
        referent=0.1,
        alignment=0.1,
        taught_until=0.2,
    ),
    Variant(
        name="candidates",
        title="Told only the candidates",
        told="Encoder head 2-1 was told to look from “it” at the two nouns that it could mean, but never at "
        "which of the two.",
        candidates=0.1,
    ),
    Variant(
        name="untold",
        title="Not told anything",
        told="Nobody told any of its heads where to look: it saw English sentences and their French "
        "translations, nothing else. Its heads are more and smaller than the others’.",
        n_heads=8,
        seed=1,
    ),
    Variant(
        name="decorative",
        title="A good-looking picture",
        told="Built to mislead: encoder head 2-1 was told which noun “it” means, but all of cross-attention "
        "was told to look at the end of the sentence when “il” or “elle” comes next, so that what head 2-1 "
        "finds is not read then.",
        referent=0.1,
        elsewhere=0.1,
    ),
)

VARIANTS: Mapping[str, Variant] = {variant.name: variant for variant in _ALL}
"""Each variant by its name, the one to begin with first."""
