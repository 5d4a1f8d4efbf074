"""Scaled dot-product attention: each query reads a weighted average of the values."""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from attnviz.errors import InvalidMask
from attnviz.transformer.masks import refuse_blind_rows


class AttentionSteps(NamedTuple):
    """From queries, keys and values to what each query read.

    Attributes:
        dot_products: query · key.
        scores: the dot products × scale.
        masked: the scores, −∞ where the mask forbids to look.
        weights: their softmax; every row sums to 1, forbidden cells are exactly 0.
        output: each query's average of the values, by its weights.
    """

    dot_products: Float[Tensor, "*head query key"]
    scores: Float[Tensor, "*head query key"]
    masked: Float[Tensor, "*head query key"]
    weights: Float[Tensor, "*head query key"]
    output: Float[Tensor, "*head query d_value"]


def scaled_dot_product_attention(
    query: Float[Tensor, "*head query d_head"],
    key: Float[Tensor, "*head key d_head"],
    value: Float[Tensor, "*head key d_value"],
    mask: Bool[Tensor, "*#head query key"] | None = None,
    scale: float | None = None,
) -> AttentionSteps:
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d_head) V (Vaswani et al. 2017, equation 1).

    Args:
        query: what each token searches for.
        key: what each token offers to be found by.
        value: what each token contributes to the queries that attend to it.
        mask: True where a query may look; None: everywhere.
        scale: what the dot products are multiplied by; None: 1 / √d_head.

    Raises:
        InvalidMask: the mask has another size than the scores, or lets a query look nowhere.
    """
    if scale is None:
        scale = query.shape[-1] ** -0.5
    dot_products = query @ key.transpose(-2, -1)
    scores = dot_products * scale
    masked = scores if mask is None else _forbid(scores, mask)
    weights = masked.softmax(dim=-1)
    return AttentionSteps(dot_products, scores, masked, weights, weights @ value)


def _forbid(
    scores: Float[Tensor, "*head query key"], mask: Bool[Tensor, "*#head query key"]
) -> Float[Tensor, "*head query key"]:
    """−∞ where the mask is False, because exp(−∞) = 0."""
    # Without this, a mask of one row would silently be broadcast over all queries.
    if mask.shape[-2:] != scores.shape[-2:]:
        raise InvalidMask(
            f"The mask is {mask.shape[-2]} × {mask.shape[-1]}, "
            f"but there are {scores.shape[-2]} queries and {scores.shape[-1]} keys."
        )
    refuse_blind_rows(mask)
    return scores.masked_fill(~mask, float("-inf"))
