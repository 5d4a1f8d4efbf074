"""What attention makes of a sentence's word vectors before it has learned anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.analysis.shown import Group, Shown
from attnviz.app.learn import compute
from attnviz.app.learn.weighted_average.compute_scores import (
    Additive,
    Score,
    attention_without_parameters,
    cosine,
    dot_product,
    scaled_dot_product,
    weighted_average,
)
from attnviz.capture.arrays import owned
from attnviz.trace import Floats

HIDDEN = 64
"""The size of additive scoring's hidden layer."""

SCORES: dict[str, Score] = {
    "Dot product": dot_product,
    "Scaled dot product": scaled_dot_product,
    "Cosine": cosine,
}
ADDITIVE = "Additive"

TRAINED_LAYER, TRAINED_HEAD = 3, 1  # in the bundled BERT, the head that follows the pronoun; both from 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Average:
    """Every token's weighted average of all tokens, and what it did to them.

    Attributes:
        tokens: the sentence's own tokens, without [CLS] and [SEP].
        vectors: [token, d_model], x: the fixed word vectors of the bundled BERT, one for each entry of its
            vocabulary, before positions are added and the norm is taken.
        scores, weights: [token, token], who looks (row) at whom (column).
        output: [token, d_model], x': the mixed vectors.
        fixed_similarity: [token, token], the cosine between x of the row and x of the column.
        mixed_similarity: [token, token], the cosine between x' of the row and x of the column.
    """

    tokens: tuple[Group, ...]
    vectors: Floats
    scores: Floats
    weights: Floats
    output: Floats
    fixed_similarity: Floats
    mixed_similarity: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class OneQuery:
    """What one token reads, computed for it alone.

    Attributes:
        weights: [token].
        output: [d_model].
        difference: the largest difference of any of these numbers from the token's row in `Average`.
    """

    weights: Floats
    output: Floats
    difference: float


def average(text: str, scoring: str, temperature: float, seed: int = 0) -> Average:
    """Attention without parameters over the sentence's word vectors.

    Args:
        text: the sentence.
        scoring: a name in `SCORES`, or `ADDITIVE`.
        temperature: of the softmax; 0 and infinity are its limits.
        seed: of additive scoring's random matrices.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    vectors = word_vectors(text)
    with torch.inference_mode():
        steps = attention_without_parameters(vectors, score_named(scoring, seed), temperature)
        fixed, mixed = cosine(vectors, vectors), cosine(steps.output, vectors)
    return Average(
        tokens=own_tokens(text),
        vectors=owned(vectors),
        scores=owned(steps.scores),
        weights=owned(steps.weights),
        output=owned(steps.output),
        fixed_similarity=owned(fixed),
        mixed_similarity=owned(mixed),
    )


def one_query(text: str, scoring: str, temperature: float, seed: int, query: int) -> OneQuery:
    """The same for one token: its vector is the only query, all tokens are keys and values.

    Args:
        text, scoring, temperature, seed: as in `average`.
        query: the token's place among the sentence's own, from 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    vectors = word_vectors(text)
    with torch.inference_mode():
        steps = weighted_average(
            vectors[query : query + 1], vectors, vectors, score_named(scoring, seed), temperature
        )
    every = average(text, scoring, temperature, seed)
    weights, output = owned(steps.weights[0]), owned(steps.output[0])
    difference = max(np.abs(weights - every.weights[query]).max(), np.abs(output - every.output[query]).max())
    return OneQuery(weights=weights, output=output, difference=float(difference))


def trained_weights(text: str, query: int) -> Floats:
    """What a token looks at in a trained head (layer 4, head 2, counted from 1), [token].

    [CLS] and [SEP] are left out, and nothing is rescaled: the numbers are the model's own.

    Args:
        text: the sentence.
        query: the token's place among the sentence's own, from 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    weights = compute.run(text).layers[TRAINED_LAYER].attention.attention.weights[TRAINED_HEAD]
    places = [group.positions[0] for group in own_tokens(text)]
    return owned(weights[places[query], places])


def best_with_itself(found: Average) -> int:
    """How many tokens score no other token higher than themselves."""
    own = found.scores.diagonal()[:, None]
    return int((own >= found.scores - 1e-6).all(axis=1).sum())


def even_mix(weights: Floats) -> float:
    """How many tokens an even mix would have that is as spread out as these weights, [token].

    e^H with the entropy H = −Σ w ln w: 1 where one token has everything, n where n tokens have the same.
    """
    some = weights[weights > 0].astype(np.float64)
    return float(np.exp(-(some * np.log(some)).sum()))


def random_additive(d_model: int, seed: int) -> Additive:
    """The untrained W, U and v of additive scoring; another seed, other matrices."""
    return Additive.random(d_model, HIDDEN, seed)


def score_named(scoring: str, seed: int) -> Score:
    """The function that compares queries with keys.

    Raises:
        KeyError: there is none of that name.
    """
    if scoring == ADDITIVE:
        return random_additive(compute.bert().embeddings.words.embedding_dim, seed).score
    return SCORES[scoring]


def own_tokens(text: str) -> tuple[Group, ...]:
    """The sentence's tokens, without those that the tokenizer adds."""
    return Shown(compute.tokens(text), text, hide_special=True).groups


def word_vectors(text: str) -> Float[Tensor, "token d_model"]:
    """x, one row for each of the sentence's own tokens: BERT's table of words, nothing added."""
    ids = compute.token_ids(tuple(token for token in compute.tokens(text) if not token.special))
    with torch.inference_mode():
        vectors: Float[Tensor, "token d_model"] = compute.bert().embeddings.words(ids)
    return vectors
