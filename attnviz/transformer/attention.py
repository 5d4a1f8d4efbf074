"""Scaled dot-product attention: the output of each query is a weighted average of the values."""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor

from attnviz.errors import InvalidMask
from attnviz.transformer.masks import check_no_empty_rows


class AttentionSteps(NamedTuple):
    """All steps from queries, keys and values to the output.

    Attributes:
        dot_products: query · key.
        scores: dot_products × scale.
        masked: The scores, −∞ where masked.
        weights: Softmax of the masked scores; rows sum to 1, masked cells are exactly 0.
        output: Weighted average of the values for each query.
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
    """Compute Attention(Q, K, V) = softmax(Q Kᵀ / √d_head) V (Vaswani et al. 2017, equation 1).

    Args:
        query: Query vectors.
        key: Key vectors.
        value: Value vectors.
        mask: True where a query may attend to a key; None masks nothing.
        scale: Factor of the dot products; None for 1 / √d_head.

    Raises:
        InvalidMask: the mask has the wrong size, or masks all keys of a query.
    """
    if scale is None:
        scale = query.shape[-1] ** -0.5
    dot_products = query @ key.transpose(-2, -1)
    scores = dot_products * scale
    masked = scores if mask is None else _apply_mask(scores, mask)
    weights = masked.softmax(dim=-1)
    return AttentionSteps(dot_products, scores, masked, weights, weights @ value)


def _apply_mask(
    scores: Float[Tensor, "*head query key"], mask: Bool[Tensor, "*#head query key"]
) -> Float[Tensor, "*head query key"]:
    """Set the scores to −∞ where the mask is False, because exp(−∞) = 0."""
    # Without this check, a mask with one row would silently be broadcast over all queries.
    if mask.shape[-2:] != scores.shape[-2:]:
        raise InvalidMask(
            f"The mask is {mask.shape[-2]} × {mask.shape[-1]}, "
            f"but there are {scores.shape[-2]} queries and {scores.shape[-1]} keys."
        )
    check_no_empty_rows(mask)
    return scores.masked_fill(~mask, float("-inf"))
