"""Query, key and value: the six steps from a token's vector to what one head reads for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnviz.capture.arrays import owned
from attnviz.lessons.bert import bert, run, tokens
from attnviz.trace import Floats, Token
from attnviz.transformer.attention import scaled_dot_product_attention
from attnviz.transformer.multi_head import MultiHeadAttention

MOST_ROWS = 24
"""How many tokens are written out as rows; of a longer text, the others are computed and added up."""


class Projection(NamedTuple):
    """One head's part of a linear map: x W + b."""

    matrix: Float[Tensor, "d_model d_head"]
    bias: Float[Tensor, " d_head"]


class SixSteps(NamedTuple):
    """What each step leaves behind for one token.

    Attributes:
        vector: step 1, the token's own vector.
        query: step 2, what the token asks for.
        keys, values: step 2, what every token is found by, and what it gives.
        dot_products: step 3, query · key for every token.
        scores: step 4, the dot products ÷ √d_head.
        weights: step 5, their softmax; they sum to 1.
        output: step 6, the values' weighted sum: what this head reads for the token.
    """

    vector: Float[Tensor, " d_model"]
    query: Float[Tensor, " d_head"]
    keys: Float[Tensor, "token d_head"]
    values: Float[Tensor, "token d_head"]
    dot_products: Float[Tensor, " token"]
    scores: Float[Tensor, " token"]
    weights: Float[Tensor, " token"]
    output: Float[Tensor, " d_head"]


def six_steps(
    vectors: Float[Tensor, "token d_model"],
    token: int,
    to_query: Projection,
    to_key: Projection,
    to_value: Projection,
) -> SixSteps:
    """softmax(q Kᵀ / √d_head) V for one token (Vaswani et al. 2017, equation 1, one row of it).

    Args:
        vectors: the vectors of all tokens, one a row.
        token: which of them looks, from 0.
        to_query, to_key, to_value: the head's three maps.
    """
    vector = vectors[token]
    query = vector @ to_query.matrix + to_query.bias
    keys = vectors @ to_key.matrix + to_key.bias
    values = vectors @ to_value.matrix + to_value.bias
    attention = scaled_dot_product_attention(query.unsqueeze(0), keys, values)
    return SixSteps(
        vector,
        query,
        keys,
        values,
        attention.dot_products.squeeze(0),
        attention.scores.squeeze(0),
        attention.weights.squeeze(0),
        attention.output.squeeze(0),
    )


def of_head(linear: nn.Linear, head: int, d_head: int) -> Projection:
    """One head's columns of a map that serves all heads side by side.

    Args:
        linear: W_Q, W_K or W_V of all heads; torch keeps the matrix lying on its side, [output, input].
        head: from 0.
        d_head: how many columns a head has.
    """
    columns = slice(head * d_head, (head + 1) * d_head)
    return Projection(linear.weight[columns].T, linear.bias[columns])


@dataclass(frozen=True, eq=False, kw_only=True)
class Walk:
    """The six steps of one token in one head of the bundled BERT, and what the model itself computed.

    Attributes:
        tokens: all tokens of the text.
        layer, head, token: whose steps these are, from 0.
        vectors: float32 [token, d_model], what the layer reads.
        query_matrix, key_matrix, value_matrix: float32 [d_model, d_head], the head's own.
        query_bias, key_bias, value_bias: float32 [d_head].
        query: float32 [d_head].
        keys, values: float32 [token, d_head].
        dot_products, scores, weights: float32 [token].
        output: float32 [d_head].
        model_output: float32 [d_head], what this head gave for this token when the whole model ran.
        model_scores, model_weights: float32 [query, key], the head's own when the whole model ran.
    """

    tokens: tuple[Token, ...]
    layer: int
    head: int
    token: int
    vectors: Floats
    query_matrix: Floats
    key_matrix: Floats
    value_matrix: Floats
    query_bias: Floats
    key_bias: Floats
    value_bias: Floats
    query: Floats
    keys: Floats
    values: Floats
    dot_products: Floats
    scores: Floats
    weights: Floats
    output: Floats
    model_output: Floats
    model_scores: Floats
    model_weights: Floats

    @property
    def d_model(self) -> int:
        """How many numbers a token's vector has."""
        return int(self.vectors.shape[1])

    @property
    def d_head(self) -> int:
        """How many numbers a query, a key and a value have."""
        return int(self.keys.shape[1])

    @property
    def difference(self) -> float:
        """The largest difference between a number of the six steps' output and the model's own."""
        return float(np.abs(self.output - self.model_output).max())

    @property
    def free_directions(self) -> int:
        """In how many independent ways the weights can change and leave the output and their sum as they are.

        Weights that do more than zero of that are not unique: others give the very same output (Brunner et
        al. 2020, §3). The values and the column of ones that makes the sum have at most d_head + 1
        dimensions, so a text of more tokens always leaves some.
        """
        constraints = np.column_stack([self.values, np.ones(len(self.values))])
        return len(self.tokens) - int(np.linalg.matrix_rank(constraints))

    @property
    def rows(self) -> tuple[int, ...]:
        """The tokens that a readable picture writes out, from 0, in the order of the text.

        Of a long text: the one that looks, and those that it looks at most.
        """
        if len(self.tokens) <= MOST_ROWS:
            return tuple(range(len(self.tokens)))
        by_weight = np.argsort(-self.weights, kind="stable")
        others = [int(token) for token in by_weight if token != self.token]
        return tuple(sorted([self.token, *others[: MOST_ROWS - 1]]))


def walk(text: str, layer: int, head: int, token: int) -> Walk:
    """The six steps of one token in one head.

    Args:
        text: the sentence.
        layer, head, token: which, from 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    passed = run(text)
    attention = bert().encoder.layers[layer].attention
    assert isinstance(attention, MultiHeadAttention)  # noqa: S101 - it is; for the type checker
    of_model = passed.layers[layer].attention
    d_head = of_model.query.shape[-1]
    maps = [
        of_head(linear, head, d_head) for linear in (attention.to_query, attention.to_key, attention.to_value)
    ]
    with torch.inference_mode():
        steps = six_steps(passed.hidden_states[layer], token, *maps)
    to_query, to_key, to_value = (Projection(*(part.detach() for part in projection)) for projection in maps)
    return Walk(
        tokens=tokens(text),
        layer=layer,
        head=head,
        token=token,
        vectors=owned(passed.hidden_states[layer]),
        query_matrix=owned(to_query.matrix),
        key_matrix=owned(to_key.matrix),
        value_matrix=owned(to_value.matrix),
        query_bias=owned(to_query.bias),
        key_bias=owned(to_key.bias),
        value_bias=owned(to_value.bias),
        query=owned(steps.query),
        keys=owned(steps.keys),
        values=owned(steps.values),
        dot_products=owned(steps.dot_products),
        scores=owned(steps.scores),
        weights=owned(steps.weights),
        output=owned(steps.output),
        model_output=owned(of_model.attention.output[head, token]),
        model_scores=owned(of_model.attention.scores[head]),
        model_weights=owned(of_model.attention.weights[head]),
    )
