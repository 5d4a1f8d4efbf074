"""The six steps from a token's vector to the output of one head for this token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnviz.analysis.arithmetic import SoftmaxRow, softmax_row
from attnviz.app.lessons import compute
from attnviz.capture.arrays import owned
from attnviz.trace import Floats, Token
from attnviz.transformer.attention import scaled_dot_product_attention
from attnviz.transformer.multi_head import MultiHeadAttention

MAX_ROWS = 24
"""Maximum number of tokens with their own row in the picture; the other tokens share one row, their sum."""


class Projection(NamedTuple):
    """One head's part of a linear map: x W + b."""

    matrix: Float[Tensor, "d_model d_head"]
    bias: Float[Tensor, " d_head"]


class SixSteps(NamedTuple):
    """The result of each step for one query token.

    Attributes:
        vector: Step 1, the vector of the query token.
        query, keys, values: Step 2.
        dot_products: Step 3, query · key for every key.
        scores: Step 4, the dot products ÷ √d_head.
        weights: Step 5, the softmax of the scores.
        output: Step 6, the weighted sum of the values.
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
    vector: Float[Tensor, " d_model"],
    vectors: Float[Tensor, "token d_model"],
    to_query: Projection,
    to_key: Projection,
    to_value: Projection,
) -> SixSteps:
    """Return softmax(q Kᵀ / √d_head) V for one token (Vaswani et al. 2017, one row of equation 1).

    Args:
        vector: Vector of the query token.
        vectors: Vectors of the key tokens, one per row.
        to_query, to_key, to_value: The head's three maps.
    """
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


def head_projection(linear: nn.Linear, head: int, d_head: int) -> Projection:
    """Return one head's columns of W_Q, W_K or W_V, stored transposed, and its part of the bias."""
    columns = slice(head * d_head, (head + 1) * d_head)
    return Projection(linear.weight[columns].T, linear.bias[columns])


@dataclass(frozen=True, eq=False, kw_only=True)
class Walk:
    """The six steps of one token in one head, all float32, and the model's own results.

    Attributes:
        tokens: Tokens of the text, including [CLS] and [SEP].
        token: Position of the query token, from 0.
        vectors: [token, d_model], input of the layer.
        query_matrix, key_matrix, value_matrix: [d_model, d_head], matrices of the head.
        query_bias, key_bias, value_bias: [d_head], biases of the head.
        vector, query, keys, values, dot_products, scores, weights, output: As in `SixSteps`.
        model_output: [d_head], output of this head for this token in the model's run.
        model_scores, model_weights: [query, key], scores and weights of the head in the model's run.
    """

    tokens: tuple[Token, ...]
    token: int
    vectors: Floats
    query_matrix: Floats
    key_matrix: Floats
    value_matrix: Floats
    query_bias: Floats
    key_bias: Floats
    value_bias: Floats
    vector: Floats
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
    def softmax(self) -> SoftmaxRow:
        """The steps of the softmax."""
        return softmax_row(self.scores, np.ones(len(self.scores), dtype=bool))

    @property
    def d_model(self) -> int:
        """The size of a token's vector."""
        return int(self.vectors.shape[1])

    @property
    def d_head(self) -> int:
        """The size of a query, a key and a value."""
        return int(self.keys.shape[1])

    @property
    def difference(self) -> float:
        """The largest difference between the output of the six steps and `model_output`."""
        return float(np.abs(self.output - self.model_output).max())

    @property
    def by_weight(self) -> list[int]:
        """Positions of the keys, by decreasing weight."""
        return [int(key) for key in np.argsort(-self.weights, kind="stable")]

    @property
    def rows(self) -> list[int]:
        """Positions with their own row, in order: the query token, and those with the largest weights."""
        others = [key for key in self.by_weight if key != self.token]
        return sorted([self.token, *others][:MAX_ROWS])


def walk(text: str, layer: int, head: int, token: int) -> Walk:
    """Return the six steps of one token in one head of the bundled BERT; all indices count from 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text is invalid.
    """
    run = compute.run(text)
    attention, model_steps = compute.bert().encoder.layers[layer].attention, run.layers[layer].attention
    assert isinstance(attention, MultiHeadAttention)  # noqa: S101 - for the type checker
    vectors, d_head = run.hidden_states[layer], model_steps.query.shape[-1]
    linears = {"query": attention.to_query, "key": attention.to_key, "value": attention.to_value}
    with torch.inference_mode():
        maps = {role: head_projection(linear, head, d_head) for role, linear in linears.items()}
        arrays = {
            "vectors": vectors,
            **{f"{role}_{name}": part for role, of in maps.items() for name, part in of._asdict().items()},
            **six_steps(vectors[token], vectors, *maps.values())._asdict(),
            "model_output": model_steps.attention.output[head, token],
            "model_scores": model_steps.attention.scores[head],
            "model_weights": model_steps.attention.weights[head],
        }
    numbers: dict[str, Any] = {name: owned(array.detach()) for name, array in arrays.items()}
    return Walk(tokens=compute.tokens(text), token=token, **numbers)
