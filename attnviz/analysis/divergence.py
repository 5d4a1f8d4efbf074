"""The Jensen–Shannon divergence between the weights of every two heads, summed token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.analysis.entropy import bits, with_sink
from attnviz.trace import Doubles, Floats, Trace, weights_of


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
    total: Doubles

    def __add__(self, other: Divergences) -> Divergences:
        """That of both."""
        return Divergences(
            self.sentences + other.sentences, self.tokens + other.tokens, self.total + other.total
        )

    @property
    def mean(self) -> Doubles:
        """float64 [head, head], the mean over tokens, in bits: 0: equal heads; 1: nothing is shared."""
        return self.total / max(self.tokens, 1)


def divergence(weights: Floats | Trace) -> Doubles:
    """How far the weights of every two heads are from each other: the Jensen–Shannon divergence (Lin 1991).

    Of the rows of each token, JS(P, Q) = H((P + Q) / 2) − (H(P) + H(Q)) / 2 in bits, and the mean over all
    tokens (Clark et al. 2019, section 6): 0 for equal heads, 1 for heads that share nothing.

    >>> far = divergence(np.array([[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]]))
    >>> far.shape, far[0, 0, 0, 1]  # of head 1 and head 2: 1 bit for the first token, 0 for the second
    ((1, 2, 1, 2), np.float64(0.5))

    Args:
        weights: [layer, head, query, key], or a trace with one kind of attention.

    Returns:
        float64 [layer, head, layer, head].

    Raises:
        InvalidTrace, TypeError: it is neither.
    """
    weights = weights_of(weights)
    found = divergences([layer[None] for layer in weights]).mean
    return found.reshape(weights.shape[:2] * 2)


def divergences(weights: Sequence[Floats]) -> Divergences:
    """Σ over tokens of JS(P, Q) = H((P + Q) / 2) − (H(P) + H(Q)) / 2, for every two heads.

    P and Q are the rows of weights of one token in two heads, special tokens and a sink counted, and H is
    their entropy in bits (Clark et al. 2019, section 6; their code first replaces each row P by .999 P +
    .001 / tokens, so that no logarithm is that of 0, and counts in nats).

    Args:
        weights: of each layer, [sentence, head, token, key].

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
        rows = [with_sink(layer[sentence]) for layer in weights]
        cells = np.concatenate([layer.reshape(len(layer), -1) for layer in rows])
        own, half = bits(cells), cells / np.float32(2)
        # One head against all behind it at a time: all pairs at once would not fit.
        for head in range(heads - 1):
            of_mean = bits(half[head + 1 :] + half[head])
            total[head, head + 1 :] += np.maximum(of_mean - (own[head + 1 :] + own[head]) / 2, 0)
    return Divergences(sentences, sentences * tokens, total + total.T)
