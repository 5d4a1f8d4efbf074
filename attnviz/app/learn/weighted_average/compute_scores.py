"""Ways to compare a query with a key, and attention that learned nothing: each token averages all tokens."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

Score = Callable[[Tensor, Tensor], Tensor]
"""(queries [query, d], keys [key, d]) → scores [query, key]: the larger, the better they match."""


def dot_product(
    query: Float[Tensor, "*head query d"], key: Float[Tensor, "*head key d"]
) -> Float[Tensor, "*head query key"]:
    """The dot product q · k (Luong et al. 2015, "dot").

    A long key can score higher than the query itself: q · q ≥ q · k is certain only if ‖k‖ ≤ ‖q‖.
    """
    return query @ key.transpose(-2, -1)


def scaled_dot_product(
    query: Float[Tensor, "*head query d"], key: Float[Tensor, "*head key d"]
) -> Float[Tensor, "*head query key"]:
    """The dot product over the root of d, the number of entries: q · k / √d (Vaswani et al. 2017, §3.2.1)."""
    return dot_product(query, key) / math.sqrt(query.shape[-1])


def cosine(
    query: Float[Tensor, "*head query d"], key: Float[Tensor, "*head key d"]
) -> Float[Tensor, "*head query key"]:
    """The cosine of the angle between them, q · k / (‖q‖ ‖k‖), from −1 to 1; 0 for a vector of zeros.

    It reaches 1 only in the query's own direction, so no key scores higher than the query itself.
    """
    return dot_product(normalize(query, dim=-1), normalize(key, dim=-1))


class Additive(NamedTuple):
    """vᵀ tanh(W q + U k): a network of one hidden layer compares them (Bahdanau et al. 2015, §A.1.2).

    W and U differ, so nothing makes a word score highest with itself.

    Attributes:
        query_matrix: W.
        key_matrix: U.
        vector: v.
    """

    query_matrix: Float[Tensor, "hidden d"]
    key_matrix: Float[Tensor, "hidden d"]
    vector: Float[Tensor, " hidden"]

    @classmethod
    def random(cls, d: int, hidden: int, seed: int) -> "Additive":
        """Before any training: normal numbers, of variance 1 / d in W and U, of 1 / hidden in v."""
        generator = torch.Generator().manual_seed(seed)
        query_matrix, key_matrix = torch.randn(2, hidden, d, generator=generator) * d**-0.5
        return cls(query_matrix, key_matrix, torch.randn(hidden, generator=generator) * hidden**-0.5)

    def score(
        self, query: Float[Tensor, "query d"], key: Float[Tensor, "key d"]
    ) -> Float[Tensor, "query key"]:
        """The score of every query with every key."""
        of_queries = query @ self.query_matrix.T
        of_keys = key @ self.key_matrix.T
        return torch.tanh(of_queries.unsqueeze(1) + of_keys.unsqueeze(0)) @ self.vector


def softmax(
    scores: Float[Tensor, "*head query key"], temperature: float = 1.0
) -> Float[Tensor, "*head query key"]:
    """e^(s_j / T) / Σ_k e^(s_k / T): shares that sum to 1 (Hinton et al. 2015, equation 1).

    Args:
        scores: one row for each query.
        temperature: T. At 0, the limit: all to the largest score, in equal parts where several are equally
            large. At infinity, the limit: the same to every key.

    Raises:
        ValueError: the temperature is negative or not a number.
    """
    if not temperature >= 0:
        raise ValueError(f"The temperature is {temperature}; it must be 0 or more.")
    if temperature == 0:
        # Equal words score equally, but for the last bit of a float.
        largest = torch.isclose(scores, scores.amax(dim=-1, keepdim=True), rtol=1e-6, atol=1e-6)
        return largest / largest.sum(dim=-1, keepdim=True)
    return (scores / temperature).softmax(dim=-1)


class AverageSteps(NamedTuple):
    """The scores, the weights, and what each query read.

    Attributes:
        scores: how well each key matches each query.
        weights: their softmax; every row sums to 1.
        output: each query's weighted average of the values.
    """

    scores: Float[Tensor, "query key"]
    weights: Float[Tensor, "query key"]
    output: Float[Tensor, "query d_value"]


def weighted_average(
    query: Float[Tensor, "query d"],
    key: Float[Tensor, "key d"],
    value: Float[Tensor, "key d_value"],
    score: Score = dot_product,
    temperature: float = 1.0,
) -> AverageSteps:
    """o_i = Σ_j w_ij v_j with w_ij = softmax_j(score(q_i, k_j) / T): a lookup in a soft database.

    Args:
        query: what is looked up; one row is enough.
        key: what it is compared with.
        value: what is read.
        score: compares queries with keys.
        temperature: T; see `softmax`.

    Raises:
        ValueError: the temperature is negative or not a number.
    """
    scores = score(query, key)
    weights = softmax(scores, temperature)
    return AverageSteps(scores, weights, weights @ value)


def attention_without_parameters(
    tokens: Float[Tensor, "token d"], score: Score = dot_product, temperature: float = 1.0
) -> AverageSteps:
    """x'_i = Σ_j w_ij x_j: the tokens are query, key and value at once, Q = K = V = X.

    Raises:
        ValueError: the temperature is negative or not a number.
    """
    return weighted_average(tokens, tokens, tokens, score, temperature)
