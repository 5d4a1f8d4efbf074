"""Why this number? One weight, taken apart into every step from two vectors to the share on the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attnviz.analysis.display_tokens import DisplayTokens, left_share, merged_weights, shown_weights
from attnviz.trace import Block, Floats, Mask


class SoftmaxRow(NamedTuple):
    """The softmax of one query's scores, step by step: each weight is its exponential / total.

    Attributes:
        largest: the largest score that the mask allows, or the sink.
        exponentials: [key], exp(score − largest), 0 where masked.
        total: their sum, with the sink's.
        sink: exp(sink − largest), of a learned score that belongs to no token; None where there is none.
    """

    largest: float
    exponentials: Floats
    total: float
    sink: float | None = None


def softmax_row(scores: Floats, mask: Mask, sink: np.float32 | None = None) -> SoftmaxRow:
    """The softmax over the keys that a query may attend to, and the head's sink, where it has one.

    Args:
        scores: [key], the scaled scores, before the mask.
        mask: [key], True where the query may look; at least once.
    """
    largest = max(scores[mask].max(), -np.inf if sink is None else sink)
    exponentials = np.exp(np.where(mask, scores, np.float32(-np.inf)) - largest)
    total = float(exponentials.sum(dtype=np.float64))
    if sink is None:
        return SoftmaxRow(float(largest), exponentials, total)
    rest = float(np.exp(sink - largest))
    return SoftmaxRow(float(largest), exponentials, total + rest, rest)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightArithmetic:
    """Every number between a query vector, a key vector and the weight that the picture shows.

    Attributes:
        query_position, key_position: the two tokens, from 0 (of merged words, the chosen pieces).
        query_vector, key_vector: [d_head].
        products: [d_head], query · key dimension by dimension.
        dot_product: their sum.
        scale, bias: scaled = dot_product · scale + bias; bias is None where the model has none.
        cap: score = cap · tanh(scaled / cap); None where the model caps none, and score = scaled.
        scaled, score: before the cap, and after it.
        mask_row: [key], where the query may look.
        score_row: [key], the scores of the whole row, before the mask.
        sink: the head's learned score that belongs to no token; None where there is none.
        softmax: the softmax of that row, with the sink.
        weight: exponential / total: the model's weight between the two tokens.
        piece_weights: [query piece, key piece], the model's weights between all pieces of the two words;
            one cell where neither was merged.
        merged_weight: the sum over key pieces, averaged over query pieces.
        left_share: what is left of the row after special tokens are hidden, and the sink; 1 where none are.
        shown_weight: merged_weight / left_share: the number on the screen.
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
    left_share: float
    shown_weight: float

    @property
    def hidden_share(self) -> float:
        """What the row gives to hidden tokens and to a sink, 0 to 1."""
        return 1 - self.left_share


def why(
    block: Block,
    head: int,
    query: int,
    key: int,
    queries: DisplayTokens,
    keys: DisplayTokens | None = None,
    query_piece: int = 0,
    key_piece: int = 0,
) -> WeightArithmetic:
    """Takes one shown weight apart (Vaswani et al. 2017, eq. 1, for one query and one key).

    Args:
        head, query, key: the head, the shown row and the shown column, from 0.
        queries, keys: which of them are shown; no keys: the same (self-attention).
        query_piece, key_piece: of a merged word, the piece to take the vector from, from 0.
    """
    keys = queries if keys is None else keys
    from_positions, to_positions = queries.groups[query].positions, keys.groups[key].positions
    i, j = from_positions[query_piece], to_positions[key_piece]
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
        piece_weights=weights[np.ix_(from_positions, to_positions)],
        merged_weight=float(merged[queries.visible[query], keys.visible[key]]),
        left_share=float(left_share(weights, queries, keys)[query]),
        shown_weight=float(shown_weights(weights, queries, keys)[query, key]),
    )
