"""What each head adds to a token: its own output times its own slice of W_O, its share of the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from attnviz.analysis.behaviour import behaviours
from attnviz.analysis.shown import Shown
from attnviz.app.learn.compute import bert, run, tokens
from attnviz.capture.arrays import owned
from attnviz.trace import Floats, Mask
from attnviz.transformer.multi_head import MultiHeadAttention, MultiHeadSteps


@dataclass(frozen=True, eq=False)
class HeadShares:
    """What the heads of one attention block add to one token.

    Attributes:
        weights: float32 [head, key]: each head's row of weights.
        concatenated: float32 [head, d_head]: what each head read: its piece of the concatenation.
        added: float32 [head, d_model]: each piece times its slice of W_O.
        bias: float32 [d_model]: W_O's bias, which belongs to no head.
        output: float32 [d_model]: what the block gives: the sum of `added`, and the bias.
        lengths: float32 [head]: |added|.
        cosines: float32 [head]: how far `added` points the way of the output, −1 to 1.
        shares: float32 [head]: added · output / |output|²: which part of the output comes from this head.
            Negative if it pulls the other way. All of them and the bias' sum to 1.
        bias_length, bias_cosine, bias_share: the same of the bias.
        output_length: |output|.
    """

    weights: Floats
    concatenated: Floats
    added: Floats
    bias: Floats
    output: Floats
    lengths: Floats
    cosines: Floats
    shares: Floats
    bias_length: float
    bias_cosine: float
    bias_share: float
    output_length: float


def head_shares(attention: MultiHeadAttention, steps: MultiHeadSteps, token: int) -> HeadShares:
    """Concat(head₁, …, head_h) W_O + b_O = Σ headᵢ W_Oᵢ + b_O, summand by summand.

    The share of a summand s in the output o is its projection onto o, in lengths of o: s · o / |o|²
    = |s| cos(s, o) / |o|. A sum's projection is the sum of the projections, and o's own is 1.

    Args:
        attention: the block.
        steps: one pass through it, [head, token, …].
        token: the token that looks, from 0.
    """
    pieces = steps.attention.output[:, token]
    added = torch.einsum("hd,hdm->hm", pieces, attention.output_projections())
    bias, output = attention.to_output.bias, steps.output[token]
    summands = torch.cat([added, bias[None]])
    lengths, length = summands.norm(dim=-1), output.norm()
    along = summands @ output / length
    # Nothing has no direction; nobody adds to an output of nothing.
    cosines = (along / lengths).nan_to_num(0)
    shares = (along / length).nan_to_num(0)
    return HeadShares(
        weights=owned(steps.attention.weights[:, token]),
        concatenated=owned(pieces),
        added=owned(added),
        bias=owned(bias),
        output=owned(output),
        lengths=owned(lengths[:-1]),
        cosines=owned(cosines[:-1]),
        shares=owned(shares[:-1]),
        bias_length=float(lengths[-1]),
        bias_cosine=float(cosines[-1]),
        bias_share=float(shares[-1]),
        output_length=float(length),
    )


def cut(attention: MultiHeadAttention, n_heads: int) -> MultiHeadAttention:
    """The same four matrices, cut into another number of heads.

    Raises:
        ValueError: d_model cannot be shared out equally among so many heads.
    """
    with torch.device("meta"):
        other = MultiHeadAttention(attention.to_output.out_features, n_heads)
    other.to_query, other.to_key = attention.to_query, attention.to_key
    other.to_value, other.to_output = attention.to_value, attention.to_output
    return other


def at_token(text: str, layer: int, token: int, n_heads: int) -> HeadShares:
    """What the heads of a layer of the bundled BERT add to one token.

    Args:
        text: the sentence.
        layer, token: which, from 0.
        n_heads: 12 for the heads that the model was trained with; another number for its matrices cut
            otherwise, at work on the very same vectors.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
        ValueError: the vectors cannot be shared out equally among so many heads.
    """
    vectors = run(text).hidden_states[layer]
    trained = bert().encoder.layers[layer].attention
    assert isinstance(trained, MultiHeadAttention)  # noqa: S101 - it is; for the type checker
    attention = cut(trained, n_heads)
    with torch.inference_mode():
        return head_shares(attention, attention(vectors, vectors), token)


@dataclass(frozen=True, eq=False)
class Habit:
    """How far every head follows a rule, beside a head that gives every token the same weight.

    Attributes:
        name, rule: the rule of `analysis.behaviour`, and what it says.
        scores: float32 [layer, head]: what it measures of each head; 0 to 1.
        found: bool [layer, head]: the heads that satisfy it.
        even: what it measures of the head that looks evenly.
    """

    name: str
    rule: str
    scores: Floats
    found: Mask
    even: float


def habits(text: str) -> tuple[Habit, ...]:
    """What each head of the bundled BERT does in a sentence, rule by rule.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    weights = owned(torch.stack([layer.attention.attention.weights for layer in run(text).layers]))
    evenly = np.full_like(weights[:1, :1], 1 / weights.shape[-1])
    shown = Shown(tokens(text), text)
    pairs = zip(behaviours(weights, shown), behaviours(evenly, shown), strict=True)
    return tuple(Habit(b.name, b.rule, b.score, b.found, float(even.score[0, 0])) for b, even in pairs)
