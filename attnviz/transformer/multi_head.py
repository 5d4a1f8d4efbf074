"""Multi-head attention: several heads in parallel, each with its own projections."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnviz.transformer.attention import AttentionSteps, scaled_dot_product_attention
from attnviz.transformer.rotary import rotate


class MultiHeadSteps(NamedTuple):
    """The steps of all heads.

    Attributes:
        query, key, value: Projections of each head; with rotary positions, queries and keys after rotation.
        attention: Scores, weights and output of each head.
        concatenated: Concatenation of the heads' outputs.
        output: The concatenation times W_O.
    """

    query: Float[Tensor, "*batch head query d_head"]
    key: Float[Tensor, "*batch head key d_head"]
    value: Float[Tensor, "*batch head key d_head"]
    attention: AttentionSteps
    concatenated: Float[Tensor, "*batch query d_model"]
    output: Float[Tensor, "*batch query d_model"]


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head₁, …, head_h) W_O, where headᵢ = Attention(Q W_Qᵢ, K W_Kᵢ, V W_Vᵢ).

    The matrices W_Q₁ … W_Q_h are blocks of columns of one d_model × d_model matrix, and likewise W_K and W_V,
    so that one multiplication computes all heads; d_head = d_model / n_heads (Vaswani et al. 2017, §3.2.2).

    Args:
        d_model: Size of a token's vector.
        n_heads: Number of heads.
        rotary: Rotate queries and keys by their positions, 0, 1, 2 … (see `rotate`).

    Raises:
        ValueError: d_model is not divisible by n_heads.
    """

    def __init__(self, d_model: int, n_heads: int, *, rotary: bool = False) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not divisible by n_heads = {n_heads}.")
        self.n_heads = n_heads
        self.rotary = rotary
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(
        self,
        query_tokens: Float[Tensor, "*batch query d_model"],
        key_tokens: Float[Tensor, "*batch new_key d_model"],
        mask: Bool[Tensor, "*#batch query key"] | None = None,
        past: MultiHeadSteps | None = None,
    ) -> MultiHeadSteps:
        """Compute the attention from `query_tokens` to `key_tokens`; in self-attention, both are the same.

        Args:
            mask: True where a query may attend to a key; None masks nothing.
            past: The steps of the preceding tokens; their keys and values are reused (key–value cache).
                The mask has a column for each old and new key.

        Raises:
            InvalidMask: the mask has the wrong size, or masks all keys of a query.
        """
        query = split_heads(self.to_query(query_tokens), self.n_heads)
        key = split_heads(self.to_key(key_tokens), self.n_heads)
        value = split_heads(self.to_value(key_tokens), self.n_heads)
        if self.rotary:
            first = 0 if past is None else past.key.shape[-2]
            query = rotate(query, torch.arange(first, first + query.shape[-2], device=query.device))
            key = rotate(key, torch.arange(first, first + key.shape[-2], device=key.device))
        if past is not None:
            key = torch.cat([past.key, key], dim=-2)
            value = torch.cat([past.value, value], dim=-2)
        head_mask = None if mask is None else mask.unsqueeze(-3)
        attention = scaled_dot_product_attention(query, key, value, head_mask)
        concatenated = join_heads(attention.output)
        return MultiHeadSteps(query, key, value, attention, concatenated, self.to_output(concatenated))

    def output_projections(self) -> Float[Tensor, "head d_head d_model"]:
        """Return each head's slice of W_O.

        Concat(head₁, …, head_h) W_O = head₁ W_O₁ + … + head_h W_O_h: the contribution of a head to the
        output is its own output times its own slice. (W_O's bias belongs to no head.)
        """
        d_model = self.to_output.out_features
        return self.to_output.weight.T.reshape(self.n_heads, -1, d_model)


def split_heads(
    tokens: Float[Tensor, "*batch token d_model"], n_heads: int
) -> Float[Tensor, "*batch {n_heads} token d_head"]:
    """Split each token's vector into one slice per head; return a contiguous tensor."""
    pieces = tokens.reshape(*tokens.shape[:-1], n_heads, -1)
    return pieces.transpose(-3, -2).contiguous()


def join_heads(heads: Float[Tensor, "*batch head token d_head"]) -> Float[Tensor, "*batch token d_model"]:
    """Return Concat(head₁, …, head_h), the inverse of `split_heads`."""
    return heads.transpose(-3, -2).flatten(-2)
