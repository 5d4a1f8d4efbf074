"""Each head's contribution to a token's output, and the cost of an attention block by number of heads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from attnviz.app.lessons.compute import bert, num_parameters, run
from attnviz.capture.arrays import owned
from attnviz.trace import Floats
from attnviz.transformer.multi_head import MultiHeadAttention, MultiHeadSteps


@dataclass(frozen=True, eq=False)
class HeadShares:
    """Contributions of the heads of one attention block to one token's output.

    Attributes:
        weights: float32 [head, key], each head's row of weights.
        lengths: float32 [head], |added|, where `added` is the head's output times its slice of W_O.
        cosines: float32 [head], cosine of `added` and the output, −1 to 1.
        shares: float32 [head], added · output / |output|², the head's share of the output.
            It has the sign of the cosine. The shares of all heads and of the bias sum to 1.
        bias_share: Share of the output bias b_O, which belongs to no head.
        output_length: |output|.
    """

    weights: Floats
    lengths: Floats
    cosines: Floats
    shares: Floats
    bias_share: float
    output_length: float


def head_shares(attention: MultiHeadAttention, steps: MultiHeadSteps, token: int) -> HeadShares:
    """Return the shares of the summands of Concat(head₁, …, head_h) W_O + b_O = Σ headᵢ W_Oᵢ + b_O.

    The share of a summand s in the output o is its projection onto o, in units of |o|: s · o / |o|²
    = |s| cos(s, o) / |o|. The projection of a sum is the sum of the projections, so the shares sum to 1.

    Args:
        attention: The attention block.
        steps: One pass through the block, [head, token, …].
        token: Query token, from 0.
    """
    pieces = steps.attention.output[:, token]
    added = torch.einsum("hd,hdm->hm", pieces, attention.output_projections())
    bias, output = attention.to_output.bias, steps.output[token]
    summands = torch.cat([added, bias[None]])
    lengths, length = summands.norm(dim=-1), output.norm()
    along = summands @ output / length
    # An output of zeros has no direction: its cosines and shares are set to 0.
    cosines = (along / lengths).nan_to_num(0)
    shares = (along / length).nan_to_num(0)
    return HeadShares(
        weights=owned(steps.attention.weights[:, token]),
        lengths=owned(lengths[:-1]),
        cosines=owned(cosines[:-1]),
        shares=owned(shares[:-1]),
        bias_share=float(shares[-1]),
        output_length=float(length),
    )


def at_token(text: str, layer: int, token: int) -> HeadShares:
    """Return the contributions of the heads of the bundled BERT to one token; layer and token from 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text is invalid.
    """
    attention = bert().encoder.layers[layer].attention
    assert isinstance(attention, MultiHeadAttention)  # noqa: S101 - for the type checker
    with torch.inference_mode():
        return head_shares(attention, run(text).layers[layer].attention, token)


def multiply_adds(tokens: int, d_model: int, n_heads: int) -> int:
    """Return 4 N d_model² + 2 h N² d_head, the multiply-adds of an attention block for N tokens.

    Since h · d_head = d_model, the number of heads cancels. Small costs (biases, softmax) are omitted.
    """
    d_head = d_model // n_heads
    return 4 * tokens * d_model**2 + 2 * n_heads * tokens**2 * d_head


@dataclass(frozen=True)
class Cost:
    """The cost of one attention block.

    Attributes:
        heads, d_head: Number of heads, and dimension of each.
        parameters: Number of parameters of W_Q, W_K, W_V and W_O with their biases.
        multiply_adds: Number of multiply-adds for the sentence; see the function `multiply_adds`.
        weights: Number of attention weights for the sentence, each with one exponential in the softmax.
    """

    heads: int
    d_head: int
    parameters: int
    multiply_adds: int
    weights: int


def costs(d_model: int, heads: Iterable[int], tokens: int) -> tuple[Cost, ...]:
    """Return the cost of an attention block for each number of heads, with N = `tokens`.

    Raises:
        ValueError: a number of heads does not divide d_model.
    """
    found = []
    for n_heads in heads:
        with torch.device("meta"):  # shapes only, without memory
            module = MultiHeadAttention(d_model, n_heads)
        counted = multiply_adds(tokens, d_model, n_heads)
        weights = n_heads * tokens**2
        found.append(Cost(n_heads, d_model // n_heads, num_parameters(module), counted, weights))
    return tuple(found)
