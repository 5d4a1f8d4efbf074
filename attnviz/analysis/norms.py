"""The norms of weighted vectors, weight × value × W_O, as an alternative to the weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.errors import AttnvizError
from attnviz.trace import Block, Floats, checked_place


def weighted_vectors(block: Block, query: int) -> Floats:
    """Return αᵢⱼ f(xⱼ) with f(x) = (x W_V + b_V) W_O for each head (Kobayashi et al. 2020).

    Args:
        block: One layer's attention; its values include b_V.
        query: Position i of the query token, from 0.

    Returns:
        [head, key, d_model]; the sum over heads and keys is the block's output without W_O's bias.

    Raises:
        AttnvizError: the trace has no W_O, or there is no such token.
        TypeError: `block` is not a block, or `query` not an integer.
    """
    if not isinstance(block, Block):
        raise TypeError(
            f"block must be one layer's attention, as in trace.block(layer=3), not {type(block).__name__}."
        )
    query = checked_place(query, block.query_tokens, "query")
    block.need_vectors()
    if block.projection is None:
        raise AttnvizError(
            "No norms, because the trace has no W_O: it was saved without W_O, the model transforms head "
            "outputs before W_O, or the output projection is not linear (8-bit layers round their input)."
        )
    vectors: Floats = block.weights[:, query, :, None] * (block.value @ block.projection)
    return vectors


def head_norms(block: Block, query: int) -> Floats:
    """Return ‖αᵢⱼ f(xⱼ)‖ for each head, [head, key]; arguments and errors as for `weighted_vectors`."""
    return _norm(weighted_vectors(block, query))


def layer_norms(block: Block, query: int) -> Floats:
    """Return ‖Σₕ αᵢⱼ f(xⱼ)‖, [key], the norm of the sum over heads (Kobayashi et al. 2020).

    Vectors of different heads can cancel. Arguments and errors as for `weighted_vectors`.
    """
    return _norm(weighted_vectors(block, query).sum(axis=0))


@dataclass(frozen=True, eq=False)
class FrozenNorm:
    """A LayerNorm or RMSNorm with its divisor fixed to the value at one token, which makes it an affine map.

    Attributes:
        gain, shift: [d_model], γ and β in x ↦ (x − mean(x)) / deviation ⊙ γ + β.
        deviation: The divisor √(σ² + ε) at this token.
        centred: True if the mean is subtracted; False for RMSNorm (Zhang & Sennrich 2019).
    """

    gain: Floats
    shift: Floats
    deviation: float
    centred: bool = True

    def linear(self, vectors: Floats) -> Floats:
        """Apply the normalization, without β, to summands of the token's vector, [..., d_model]."""
        if self.centred:
            vectors = vectors - vectors.mean(axis=-1, keepdims=True)
        return np.asarray(vectors / self.deviation * self.gain, dtype=np.float32)


def residual_norms(block: Block, query: int, residual: Floats, norm: FrozenNorm | None = None) -> Floats:
    """Return the norms, [key], of the sums in `layer_norms` after Add & Norm (Kobayashi et al. 2021).

    The residual input is added to the token's contribution to itself; then the layer norm is applied.

    Args:
        query: Position i of the query token, from 0.
        residual: [d_model], the residual input xᵢ.
        norm: The layer norm at this token; None if the model has none here.

    Raises:
        AttnvizError: as for `weighted_vectors`.
    """
    parts = weighted_vectors(block, query).sum(axis=0)
    parts[query] += residual
    return _norm(parts if norm is None else norm.linear(parts))


def _norm(vectors: Floats) -> Floats:
    return np.asarray(np.linalg.norm(vectors, axis=-1), dtype=np.float32)
