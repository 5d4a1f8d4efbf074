"""One attention weight, with every intermediate value from the two vectors to the shown number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attnviz.analysis.display_tokens import DisplayTokens, merged_weights, shown_share, shown_weights
from attnviz.trace import Block, Floats, Mask


class SoftmaxRow(NamedTuple):
    """The softmax of one query's scores, step by step: each weight is its exponential divided by the total.

    Attributes:
        largest: Maximum of the unmasked scores and the sink's score.
        exponentials: [key], exp(score − largest), 0 where masked.
        total: Sum of the exponentials, including the sink's.
        sink: exp(sink − largest) for the head's learned sink score; None without a sink.
    """

    largest: float
    exponentials: Floats
    total: float
    sink: float | None = None


def softmax_row(scores: Floats, mask: Mask, sink: np.float32 | None = None) -> SoftmaxRow:
    """Compute the softmax over the unmasked keys and the head's sink, if any.

    Args:
        scores: [key], before masking.
        mask: [key], True where not masked; not all False.
        sink: Learned sink score; None without a sink.
    """
    largest = max(scores[mask].max(), -np.inf if sink is None else sink)
    exponentials = np.exp(np.where(mask, scores, np.float32(-np.inf)) - largest)
    total = float(exponentials.sum(dtype=np.float64))
    if sink is None:
        return SoftmaxRow(float(largest), exponentials, total)
    sink_exponential = float(np.exp(sink - largest))
    return SoftmaxRow(float(largest), exponentials, total + sink_exponential, sink_exponential)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightArithmetic:
    """Every intermediate value between a query vector, a key vector and the displayed weight.

    Attributes:
        query_position, key_position: Positions of the two tokens, from 0 (for merged words, of the chosen
            pieces).
        query_vector, key_vector: [d_head].
        products: [d_head], elementwise product of query and key.
        dot_product: Sum of the products.
        scale, bias: scaled = dot_product · scale + bias; bias is None if the model has none.
        cap: score = cap · tanh(scaled / cap); None if scores are not capped; then score = scaled.
        scaled, score: Score before and after the cap.
        mask_row: [key], True where not masked.
        score_row: [key], scores of the row, before masking.
        sink: Learned sink score of the head; None without a sink.
        softmax: Softmax of the row, including the sink.
        weight: The model's weight of the query on the key: exponential / total.
        piece_weights: [query piece, key piece], the model's weights between all pieces of the two words;
            one cell if neither is merged.
        merged_weight: Sum of `piece_weights` over key pieces, averaged over query pieces.
        shown_share: Fraction of the row's weight on shown tokens; 1 if no token is hidden.
        shown_weight: merged_weight / shown_share, the displayed number.
    """

    query_position: int
    key_position: int
    query_vector: Floats
    key_vector: Floats
    products: Floats
    dot_product: float
    scale: float
    bias: float | None
    cap: float | None
    scaled: float
    score: float
    mask_row: Mask
    score_row: Floats
    sink: float | None
    softmax: SoftmaxRow
    weight: float
    piece_weights: Floats
    merged_weight: float
    shown_share: float
    shown_weight: float


def weight_arithmetic(
    block: Block,
    head: int,
    query: int,
    key: int,
    queries: DisplayTokens,
    keys: DisplayTokens | None = None,
    query_piece: int = 0,
    key_piece: int = 0,
) -> WeightArithmetic:
    """Compute every step of one displayed weight (Vaswani et al. 2017, eq. 1, for one query and one key).

    Args:
        head, query, key: Head, shown row and shown column, from 0.
        queries, keys: Shown queries and keys; `keys` is None for self-attention.
        query_piece, key_piece: Index, from 0, of the chosen piece of a merged word.
    """
    keys = queries if keys is None else keys
    query_positions, key_positions = queries.groups[query].positions, keys.groups[key].positions
    i, j = query_positions[query_piece], key_positions[key_piece]
    query_vector, key_vector = block.query[head, i], block.key[head, j]
    products = query_vector * key_vector
    dot_product = float(products.sum(dtype=np.float64))
    bias = None if block.bias is None else float(block.bias[head, i, j])
    score_row, mask_row = block.scores[head, i], block.mask[i]
    score = float(score_row[j])
    sink = None if block.sinks is None else block.sinks[head]
    weights = block.weights[head]
    merged = merged_weights(weights, queries, keys)
    return WeightArithmetic(
        query_position=i,
        key_position=j,
        query_vector=query_vector,
        key_vector=key_vector,
        products=products,
        dot_product=dot_product,
        scale=block.scale,
        bias=bias,
        cap=block.cap,
        scaled=float(block.scaled[head, i, j]),
        score=score,
        mask_row=mask_row,
        score_row=score_row,
        sink=None if sink is None else float(sink),
        softmax=softmax_row(score_row, mask_row, sink),
        weight=float(weights[i, j]),
        piece_weights=weights[np.ix_(query_positions, key_positions)],
        merged_weight=float(merged[queries.visible[query], keys.visible[key]]),
        shown_share=float(shown_share(weights, queries, keys)[query]),
        shown_weight=float(shown_weights(weights, queries, keys)[query, key]),
    )
