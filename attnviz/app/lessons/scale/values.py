"""Why divide by √d? Random queries and keys, and a real model's, each with the scale and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.linalg import matrix_norm

from attnviz.analysis.entropy import entropy
from attnviz.app.lessons import compute
from attnviz.capture.arrays import owned
from attnviz.trace import Floats, Token
from attnviz.transformer.attention import scaled_dot_product_attention


@dataclass(frozen=True, eq=False)
class Softmax:
    """One row of weights, and how far it is from having decided.

    Attributes:
        weights: [key].
        entropy: in bits; 0: one key gets everything; log₂ of the number of keys: all get the same.
        gradient: the size (Frobenius norm) of `derivative`; 0: the query learns nothing from this row.
    """

    weights: Floats
    entropy: float
    gradient: float


@dataclass(frozen=True, eq=False)
class Row:
    """One query against several keys.

    Attributes:
        dot_products: [key], q · k.
        plain: the softmax of these.
        scaled: the softmax of these divided by √d.
    """

    dot_products: Floats
    plain: Softmax
    scaled: Softmax


@dataclass(frozen=True, eq=False)
class HeadRow:
    """One head of the bundled BERT.

    Attributes:
        tokens: what the row's keys belong to.
        d_head: entries of a query or key.
        variance: of q · k over all pairs of tokens.
        centred_variance: of q · k with the mean query and the mean key subtracted.
        query_variance, key_variance: of each entry over the tokens, averaged over the entries.
        row: one token's query against all keys.
    """

    tokens: tuple[Token, ...]
    d_head: int
    variance: float
    centred_variance: float
    query_variance: float
    key_variance: float
    row: Row


def variances(sizes: Sequence[int], draws: int, seed: int) -> tuple[Floats, Floats]:
    """Draw queries and keys with entries from N(0, 1), and measure how their dot products vary.

    Args:
        sizes: d, how many entries they have; each in turn.
        draws: how many pairs of a query and a key are drawn for each d.
        seed: the same one draws the same numbers.

    Returns:
        The variances, [size], and the standard errors of these measurements, [size].
    """
    generator = torch.Generator().manual_seed(seed)
    measured = []
    for d in sizes:
        query, key = torch.randn(2, draws, d, generator=generator)
        measured.append((query * key).sum(dim=-1).var())
    errors = torch.tensor([standard_error(d, draws) for d in sizes])
    return owned(torch.stack(measured)), owned(errors)


def standard_error(d: int, draws: int) -> float:
    """How far from d a variance of q · k lies, typically, when it is measured on a number of draws.

    A product of two independent N(0, 1) has variance 1 and fourth moment 9. A sum of d of them therefore has
    σ² = d and μ₄ = 3d² + 6d. A variance measured on n draws has itself the variance
    (μ₄ − σ⁴ (n − 3)/(n − 1)) / n.
    """
    fourth_moment = 3 * d**2 + 6 * d
    variance = (fourth_moment - d**2 * (draws - 3) / (draws - 1)) / draws
    return sqrt(variance)


def row(d: int, longest: int, keys: int, seed: int) -> Row:
    """A random query against random keys; a larger d adds entries to the same vectors.

    Args:
        d: how many entries they have.
        longest: the most that d can be.
        keys: how many keys there are.
        seed: the same one draws the same numbers.
    """
    generator = torch.Generator().manual_seed(seed)
    query, *others = torch.randn(1 + keys, longest, generator=generator)[:, :d]
    return compare(query, torch.stack(others))


def compare(query: Float[Tensor, " d"], keys: Float[Tensor, "key d"]) -> Row:
    """The weights of one query, once by softmax(q · k) and once by softmax(q · k / √d)."""
    plain, scaled = (
        Softmax(
            owned(weights),
            float(entropy(owned(weights))),
            float(matrix_norm(derivative(weights, keys, scale))),
        )
        for scale in scales(len(query))
        for weights in scaled_dot_product_attention(query[None], keys, keys, scale=scale).weights
    )
    return Row(owned(keys @ query), plain, scaled)


def strongest_keys(row: Row, maximum: int) -> list[int]:
    """Return the keys of a row in order, at most `maximum`: the `maximum - 1` with the largest weights."""
    order = sorted(range(len(row.scaled.weights)), key=lambda key: (-float(row.scaled.weights[key]), key))
    return sorted(order if len(order) <= maximum else order[: maximum - 1])


def scales(d: int) -> tuple[float, float]:
    """What the dot products are multiplied by: without the division by √d, and with it."""
    return 1.0, d**-0.5


def jacobian(weights: Float[Tensor, "*row key"]) -> Float[Tensor, "*row key key"]:
    """∂w/∂s = diag(w) − wᵀ w, for each row w = softmax(s): how its weights move with its scores."""
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def derivative(
    weights: Float[Tensor, "*row key"], keys: Float[Tensor, "*row key d"], scale: float
) -> Float[Tensor, "*row key d"]:
    """∂w/∂q = ∂w/∂s · scale · K, where s = scale · q Kᵀ: how a row's weights move with its query."""
    return jacobian(weights) @ keys * scale


def curves(sizes: Sequence[int], keys: int, rows: int, seed: int) -> tuple[Floats, Floats]:
    """The entropy and the gradient of random rows, for every size, without the scale and with it.

    Args:
        sizes: d, how many entries queries and keys have; each in turn.
        keys: how many keys a row has.
        rows: of how many rows the quartiles are taken.
        seed: the same one draws the same numbers.

    Returns:
        The entropies, in bits, and the sizes of the gradients; of each the lower quartile, the median and
        the upper quartile, [quartile, scale, size].
    """
    generator = torch.Generator().manual_seed(seed)
    found = np.empty((2, 3, 2, len(sizes)), np.float32)
    for column, d in enumerate(sizes):
        query = torch.randn(rows, 1, d, generator=generator)
        key = torch.randn(rows, keys, d, generator=generator)
        for line, scale in enumerate(scales(d)):
            weights = scaled_dot_product_attention(query, key, key, scale=scale).weights[:, 0]
            of_rows = entropy(owned(weights)), owned(matrix_norm(derivative(weights, key, scale)))
            found[:, :, line, column] = np.quantile(of_rows, (0.25, 0.5, 0.75), axis=1).T
    entropies, gradients = compute.read_only(found)
    return entropies, gradients


def in_bert(text: str, layer: int, head: int, query: int) -> HeadRow:
    """The same comparison with the bundled BERT's own queries and keys.

    Args:
        text: what the model reads.
        layer, head, query: from 0; the query's number is that of its token.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    steps = compute.run(text).layers[layer].attention
    queries, keys = steps.query[head], steps.key[head]
    return HeadRow(
        tokens=compute.tokens(text),
        d_head=queries.shape[-1],
        variance=float((queries @ keys.T).var(correction=0)),  # of all there are, not of a sample
        centred_variance=float(((queries - queries.mean(0)) @ (keys - keys.mean(0)).T).var(correction=0)),
        query_variance=float(queries.var(dim=0, correction=0).mean()),
        key_variance=float(keys.var(dim=0, correction=0).mean()),
        row=compare(queries[query], keys),
    )
