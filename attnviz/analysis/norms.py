"""The norms of weighted vectors, weight × value × W_O, instead of the weight alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.errors import AttnvizError
from attnviz.trace import Block, Floats, checked_place


def weighted_vectors(block: Block, query: int) -> Floats:
    """αᵢⱼ f(xⱼ) with f(x) = (x W_V + b_V) W_O, head by head (Kobayashi et al. 2020).

    Args:
        block: one layer's attention; its values hold b_V already.
        query: the token i that reads, from 0.

    Returns:
        [head, key, d_model]; summed over heads and keys it is what the token reads, but for W_O's bias.

    Raises:
        AttnvizError: the model's W_O was not found, or there is no such token.
        TypeError: it is no block, or the token no whole number.
    """
    if not isinstance(block, Block):
        raise TypeError(
            f"block must be one layer's attention, as in trace.block(layer=3), not {type(block).__name__}."
        )
    checked_place(query, len(block.query_tokens), "query")
    block.need_vectors()
    if block.projection is None:
        raise AttnvizError(
            "The trace has no W_O, and the lengths cannot be computed: it was saved without, the model does "
            "something else with its heads’ outputs before it mixes them, or the layer that mixes them is no "
            "matrix (8-bit layers round what they are given)."
        )
    carried: Floats = block.weights[:, query, :, None] * (block.value @ block.projection)
    return carried


def head_norms(block: Block, query: int) -> Floats:
    """‖αᵢⱼ f(xⱼ)‖ of each head, [head, key]; arguments and errors as in `weighted_vectors`."""
    return _length(weighted_vectors(block, query))


def layer_norms(block: Block, query: int) -> Floats:
    """‖Σₕ αᵢⱼ f(xⱼ)‖, [key]: the heads' vectors are added before the length is taken, as in the paper.

    What two heads take from a token can cancel. Arguments and errors as in `weighted_vectors`.
    """
    return _length(weighted_vectors(block, query).sum(axis=0))


@dataclass(frozen=True, eq=False)
class FrozenNorm:
    """A norm at one token with its divisor kept: x ↦ (x − mean(x)) / deviation ⊙ γ + β, linear but for β.

    Attributes:
        gain, shift: [d_model], γ and β.
        deviation: what it divided the token's vector by, √(σ² + ε).
        centred: whether it takes off the mean; a root mean square norm does not (Zhang & Sennrich 2019).
    """

    gain: Floats
    shift: Floats
    deviation: float
    centred: bool = True

    def linear(self, vectors: Floats) -> Floats:
        """What becomes of parts of the token's vector, [..., d_model], each by itself; β is not added."""
        if self.centred:
            vectors = vectors - vectors.mean(axis=-1, keepdims=True)
        return np.asarray(vectors / self.deviation * self.gain, dtype=np.float32)


def surrounded_norms(block: Block, query: int, residual: Floats, norm: FrozenNorm | None = None) -> Floats:
    """The same after the residual connection and the layer norm (Kobayashi et al. 2021).

    The token's own vector xᵢ goes around the attention and is added to what it hands itself.

    Args:
        query: the token i that reads, from 0.
        residual: [d_model], xᵢ.
        norm: the one that the sum goes through, as it was at this token; None: none follows.

    Returns:
        [key].

    Raises:
        AttnvizError: as in `weighted_vectors`.
    """
    parts = weighted_vectors(block, query).sum(axis=0)
    parts[query] += residual
    return _length(parts if norm is None else norm.linear(parts))


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.linalg.norm(vectors, axis=-1), dtype=np.float32)
