"""Which of five shapes a head's weights have: vertical stripes, diagonal ones, both, blocks, or none.

The shapes are those of Kovaleva et al. 2019, “Revealing the Dark Secrets of BERT”, section 4.1. They trained
a network on pictures that people had labelled; here each shape is a rule with a threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.rules import even_weights
from attnviz.text import percent
from attnviz.trace import Doubles, Floats, Mask

STRONGEST = 2
"""How many columns count as the strongest: [CLS] and [SEP], say."""

ENOUGH = 0.4
"""From where on a head has a shape: this share of the way from even attention to nothing but the shape."""

SOME = 0.2
"""The same for each part of a shape that has two."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape that a head's weights can have.

    Attributes:
        name: as in the paper.
        rule: when a head has it, in words.
    """

    name: str
    rule: str


SHAPES = (
    Shape("vertical", f"the {STRONGEST} columns that receive most reach {percent(ENOUGH)}"),
    Shape("diagonal", f"the token itself and its two neighbours reach {percent(ENOUGH)}"),
    Shape(
        "vertical + diagonal",
        f"both of these reach {percent(SOME)}, whichever of them is larger",
    ),
    Shape("block", f"the tokens of its own sentence, in a pair, reach {percent(ENOUGH)}; none of the above"),
    Shape("heterogeneous", "none of the above"),
)
"""In the order of the numbers that `ShapeSums.shapes` gives."""

MEASURE = (
    "0 % is what even attention gives, and 100 % is all attention; special tokens counted, and averaged over "
    "the sentences, where each counts for as much as it could differ from even attention"
)
"""What the percents of the rules are percents of."""

_COLUMNS, _DIAGONALS, _BLOCKS = range(3)


@dataclass(frozen=True, eq=False)
class ShapeSums:
    """Sums over sentences, from which the shapes follow; `a + b` is that of both texts together.

    Attributes:
        sentences: how many.
        given: float64 [measure, layer, head]: Σ of the share of attention on the strongest columns, on the
            diagonals −1, 0 and +1, and within the own sentence.
        even: float64 [measure, layer]: the same sum for a head that shares evenly among what its mask allows.
        whole: float64 [measure, layer]: in how many sentences the measure means something.
    """

    sentences: int
    given: Doubles
    even: Doubles
    whole: Doubles

    def __add__(self, other: ShapeSums) -> ShapeSums:
        """That of both."""
        return ShapeSums(
            self.sentences + other.sentences,
            self.given + other.given,
            self.even + other.even,
            self.whole + other.whole,
        )

    @property
    def beyond_even(self) -> Doubles:
        """float64 [measure, layer, head], Σ (given − even) / Σ (1 − even): 0: even attention; 1: all of it.

        The measures are columns, diagonals and blocks. Not a number where nothing could differ from even
        attention: blocks, where no sentence is one of a pair.
        """
        room = (self.whole - self.even)[..., None]
        beyond = np.full(self.given.shape, np.nan)
        np.divide(self.given - self.even[..., None], room, out=beyond, where=room > 1e-9)
        return beyond

    @property
    def shapes(self) -> NDArray[np.intp]:
        """[layer, head], the place in `SHAPES` of each head's shape."""
        columns, diagonals, blocks = np.nan_to_num(self.beyond_even)
        both = np.minimum(columns, diagonals) >= SOME
        cases = [both, columns >= ENOUGH, diagonals >= ENOUGH, blocks >= ENOUGH]
        return np.asarray(np.select(cases, [2, 0, 1, 3], default=4), dtype=np.intp)


def shapes(weights: Sequence[Floats], masks: Sequence[Mask], sentence_of: Sequence[int]) -> ShapeSums:
    """The sums of some sentences of equal length.

    Args:
        weights: of each layer, [sentence, head, token, token], as the model computed them.
        masks: of each layer, [token, token], True where a token may look.
        sentence_of: [token], whether it belongs to the first (0) or the second (1) sentence of a pair; the
            same for all.

    Raises:
        ValueError: the weights are not square.
    """
    if any(layer.shape[-1] != layer.shape[-2] for layer in weights):
        raise ValueError("Only self-attention has these shapes: queries and keys must be the same tokens.")
    sentences = len(weights[0]) if weights else 0
    members = np.asarray(sentence_of)
    own = members[:, None] == members
    given = [_measured(layer, own).sum(axis=1) for layer in weights]
    even = [_measured(even_weights(mask), own) for mask in masks]
    whole = np.full((3, len(masks)), float(sentences))
    whole[_BLOCKS] *= not own.all()
    each_even = np.stack(even, axis=1)
    return ShapeSums(sentences, np.stack(given, axis=1), each_even * whole, whole)


def _measured(weights: Floats | Doubles, own: Mask) -> Doubles:
    """[measure, …], the shares of [..., query, key] on columns, diagonals and blocks; 0 without pairs."""
    size = weights.shape[-1]
    received = weights.mean(axis=-2, dtype=np.float64)
    near = np.abs(np.arange(size)[:, None] - np.arange(size)) <= 1
    within = np.einsum("...ij,ij->...", weights, own, dtype=np.float64) / size
    return np.stack(
        [
            np.sort(received, axis=-1)[..., -STRONGEST:].sum(axis=-1),
            np.einsum("...ij,ij->...", weights, near, dtype=np.float64) / size,
            within * (not own.all()),
        ]
    )
