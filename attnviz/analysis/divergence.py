"""The Jensen–Shannon divergence between the weights of every two heads, summed token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.entropy import entropy
from attnviz.trace import Floats

Sums = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Divergences:
    """Sums over the tokens of some sentences; `a + b` is that of both texts together.

    Attributes:
        sentences: how many.
        tokens: how many tokens looked.
        total: float64 [head, head], Σ over the tokens of the divergence, in bits; heads layer by layer.
    """

    sentences: int
    tokens: int
    total: Sums

    def __add__(self, other: Divergences) -> Divergences:
        """That of both."""
        return Divergences(
            self.sentences + other.sentences, self.tokens + other.tokens, self.total + other.total
        )

    @property
    def mean(self) -> Sums:
        """float64 [head, head], the mean over tokens, in bits: 0: equal heads; 1: nothing is shared."""
        return self.total / max(self.tokens, 1)


def divergences(weights: Sequence[Floats]) -> Divergences:
    """Σ over tokens of JS(P, Q) = H((P + Q) / 2) − (H(P) + H(Q)) / 2, for every two heads.

    P and Q are the rows of weights of one token in two heads, special tokens counted, and H is their entropy
    in bits (Clark et al. 2019, section 6; their code first replaces each row P by .999 P + .001 / tokens, so
    that no logarithm is that of 0, and counts in nats).

    Args:
        weights: of each layer, [sentence, head, token, token].

    Raises:
        ValueError: layers differ in their sentences or tokens.
    """
    if len({(layer.shape[0], *layer.shape[2:]) for layer in weights}) != 1:
        raise ValueError("All layers must have the weights of the same sentences.")
    sentences, _, tokens, _ = weights[0].shape
    heads = sum(layer.shape[1] for layer in weights)
    total = np.zeros((heads, heads))
    for sentence in range(sentences):
        # [head, all cells], and half of the weights: the mean of two is then their sum.
        cells = np.concatenate([layer[sentence].reshape(-1, tokens * tokens) for layer in weights])
        own, half = entropy(cells), cells / np.float32(2)
        # One head against all behind it at a time: all pairs at once would not fit.
        for head in range(heads - 1):
            of_mean = entropy(half[head + 1 :] + half[head])
            total[head, head + 1 :] += np.maximum(of_mean - (own[head + 1 :] + own[head]) / 2, 0)
    return Divergences(sentences, sentences * tokens, total + total.T)
