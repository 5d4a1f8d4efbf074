"""Attention without parameters over word vectors, and four ways to split a text into tokens.

Functions that pass a text to the model raise EmptyText, TextTooLong or UnreadableText for invalid texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from tokenizers import Regex, Tokenizer, pre_tokenizers
from torch import Tensor
from torch.nn.functional import normalize

from attnviz.analysis.display_tokens import DisplayToken, DisplayTokens
from attnviz.app.lessons import compute
from attnviz.capture.arrays import owned
from attnviz.models import catalogue
from attnviz.trace import Floats, Token

Score = Callable[[Tensor, Tensor], Tensor]
"""(queries [query, d], keys [key, d]) → scores [query, key]; larger scores are better matches."""


def dot_product(
    query: Float[Tensor, "*head query d"], key: Float[Tensor, "*head key d"]
) -> Float[Tensor, "*head query key"]:
    """Return the dot product q · k (Luong et al. 2015, "dot").

    A long key can score higher than the query itself: q · q ≥ q · k is certain only if ‖k‖ ≤ ‖q‖.
    """
    return query @ key.transpose(-2, -1)


def scaled_dot_product(
    query: Float[Tensor, "*head query d"], key: Float[Tensor, "*head key d"]
) -> Float[Tensor, "*head query key"]:
    """Return the dot product divided by √d, for d entries: q · k / √d (Vaswani et al. 2017, §3.2.1)."""
    return dot_product(query, key) / math.sqrt(query.shape[-1])


def cosine(
    query: Float[Tensor, "*head query d"], key: Float[Tensor, "*head key d"]
) -> Float[Tensor, "*head query key"]:
    """Return the cosine of the angle, q · k / (‖q‖ ‖k‖), from −1 to 1; 0 for a vector of zeros.

    The score is 1 only in the query's own direction, so no key scores higher than the query itself.
    """
    return dot_product(normalize(query, dim=-1), normalize(key, dim=-1))


class Additive(NamedTuple):
    """Additive scores vᵀ tanh(W q + U k), a network with one hidden layer (Bahdanau et al. 2015, §A.1.2).

    W is `query_matrix`, U `key_matrix`, v `vector`. Because W and U differ, a word does not necessarily score
    highest with itself.
    """

    query_matrix: Float[Tensor, "hidden d"]
    key_matrix: Float[Tensor, "hidden d"]
    vector: Float[Tensor, " hidden"]

    @classmethod
    def random(cls, d: int, hidden: int, seed: int) -> Additive:
        """Sample the parameters: W and U from N(0, 1 / d), v from N(0, 1 / hidden)."""
        generator = torch.Generator().manual_seed(seed)
        query_matrix, key_matrix = torch.randn(2, hidden, d, generator=generator) * d**-0.5
        return cls(query_matrix, key_matrix, torch.randn(hidden, generator=generator) * hidden**-0.5)

    def score(
        self, query: Float[Tensor, "query d"], key: Float[Tensor, "key d"]
    ) -> Float[Tensor, "query key"]:
        """Return the score of every query with every key."""
        of_queries = query @ self.query_matrix.T
        of_keys = key @ self.key_matrix.T
        return torch.tanh(of_queries.unsqueeze(1) + of_keys.unsqueeze(0)) @ self.vector


def softmax(
    scores: Float[Tensor, "*head query key"], temperature: float = 1.0
) -> Float[Tensor, "*head query key"]:
    """Return the weights e^(s_j / T) / Σ_k e^(s_k / T), which sum to 1 (Hinton et al. 2015, equation 1).

    Args:
        scores: [query, key].
        temperature: T. At 0, the limit T → 0 is returned: all weight is on the largest score, divided equally
            between ties. At infinity, the weights are uniform.

    Raises:
        ValueError: the temperature is negative or not a number.
    """
    if not temperature >= 0:
        raise ValueError(f"The temperature is {temperature}; it must be 0 or more.")
    if temperature == 0:
        # Scores of equal words can differ in the last bit.
        largest = torch.isclose(scores, scores.amax(dim=-1, keepdim=True), rtol=1e-6, atol=1e-6)
        return largest / largest.sum(dim=-1, keepdim=True)
    return (scores / temperature).softmax(dim=-1)


class AverageSteps(NamedTuple):
    """The scores, the weights and the outputs of attention.

    Attributes:
        scores: [query, key], how well each key matches each query.
        weights: Softmax of the scores; every row sums to 1.
        output: Weighted average of the values, for each query.
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
    """Return the soft lookup o_i = Σ_j w_ij v_j with w_ij = softmax_j(score(q_i, k_j) / T).

    Args:
        query: Query vectors, one per row.
        key: Key vectors.
        value: Value vectors.
        score: Function that compares queries with keys.
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
    """Return x'_i = Σ_j w_ij x_j, where the tokens are queries, keys and values: Q = K = V = X.

    Raises:
        ValueError: the temperature is negative or not a number.
    """
    return weighted_average(tokens, tokens, tokens, score, temperature)


HIDDEN = 64
"""Size of additive scoring's hidden layer."""

SEED = 1
"""Seed of additive scoring's random matrices."""

SCORES: dict[str, Score] = {
    "Dot product": dot_product,
    "Scaled dot product": scaled_dot_product,
    "Cosine": cosine,
}
ADDITIVE = "Additive"


@dataclass(frozen=True, eq=False, kw_only=True)
class Average:
    """Each token's weighted average of all tokens.

    Attributes:
        tokens: Tokens of the sentence, without [CLS] and [SEP].
        vectors: [token, d_model], x, the word vectors of the bundled BERT, without positions and LayerNorm.
        scores, weights: [query, key].
        output: [token, d_model], x': the weighted averages.
    """

    tokens: tuple[DisplayToken, ...]
    vectors: Floats
    scores: Floats
    weights: Floats
    output: Floats


def average(text: str, scoring: str, temperature: float) -> Average:
    """Return attention over the word vectors of a sentence: scores, weights and outputs.

    Args:
        text: The sentence.
        scoring: A name in `SCORES`, or `ADDITIVE`.
        temperature: Temperature of the softmax, from 0 to infinity.
    """
    vectors = word_vectors(text)
    with torch.inference_mode():
        steps = attention_without_parameters(vectors, score_named(scoring), temperature)
    return Average(
        tokens=sentence_tokens(text),
        vectors=owned(vectors),
        scores=owned(steps.scores),
        weights=owned(steps.weights),
        output=owned(steps.output),
    )


def single_query_difference(text: str, scoring: str, temperature: float, query: int) -> float:
    """Return the largest difference between one query's results, computed alone and in matrix form."""
    vectors = word_vectors(text)
    with torch.inference_mode():
        alone = weighted_average(
            vectors[query : query + 1], vectors, vectors, score_named(scoring), temperature
        )
    every = average(text, scoring, temperature)
    pairs = (alone.weights, every.weights), (alone.output, every.output)
    return float(max(np.abs(owned(one[0]) - all_[query]).max() for one, all_ in pairs))


def score_named(scoring: str) -> Score:
    """Return the score function of this name; additive scoring has random matrices.

    Raises:
        KeyError: the name is unknown.
    """
    if scoring == ADDITIVE:
        return Additive.random(compute.bert().embeddings.words.embedding_dim, HIDDEN, SEED).score
    return SCORES[scoring]


def sentence_tokens(text: str) -> tuple[DisplayToken, ...]:
    """Return the tokens of a sentence, without special tokens."""
    return DisplayTokens(compute.tokens(text), text, hide_special=True).groups


def word_vectors(text: str) -> Float[Tensor, "token d_model"]:
    """Return x, one row per token of the sentence: BERT's word vectors without positions."""
    ids = compute.token_ids(tuple(token for token in compute.tokens(text) if not token.special))
    with torch.inference_mode():
        vectors: Float[Tensor, "token d_model"] = compute.bert().embeddings.words(ids)
    return vectors


CHARACTERS, WORDS, WORD_PIECES, BYTES = "Characters", "Words", "Word pieces", "Bytes"
_WORDS = pre_tokenizers.Split(Regex(r"[\p{L}\p{M}\p{N}]+|\s+|."), "isolated")


@dataclass(frozen=True, kw_only=True)
class Split:
    """A text, split into tokens.

    Attributes:
        pieces: The tokens.
        vocabulary: Size of the vocabulary.
        decoded: Text decoded from the ids.
    """

    pieces: tuple[Token, ...]
    vocabulary: int
    decoded: str


def split(kind: str, text: str) -> Split:
    """Split a text into characters, words, word pieces or bytes.

    Raises:
        KeyError: the kind is unknown.
    """
    return {CHARACTERS: characters, WORDS: words, WORD_PIECES: word_pieces, BYTES: utf8_bytes}[kind](text)


def characters(text: str) -> Split:
    """Return each character as a token; ids are indices in the sorted alphabet of the text."""
    return _with_own_vocabulary(list(text))


def words(text: str) -> Split:
    """Return runs of letters, marks and digits, runs of white space, and other single characters as tokens.

    Ids are indices in the sorted vocabulary of the text.
    """
    return _with_own_vocabulary([word for word, _ in _WORDS.pre_tokenize_str(text)])


def utf8_bytes(text: str) -> Split:
    """Return each UTF-8 byte of the text as a token, in hexadecimal; ids are the values of the bytes."""
    pieces = tuple(
        Token(f"{byte:02X}", byte, place, place + 1, word=None, special=False)
        for place, character in enumerate(text)
        for byte in character.encode()
    )
    return Split(pieces=pieces, vocabulary=256, decoded=bytes(piece.id for piece in pieces).decode())


def word_pieces(text: str) -> Split:
    """Return the bundled BERT's tokens; a piece inside a word begins with ##.

    The vocabulary has no capitals, accents or spaces, so decoding loses them.
    """
    pieces = compute.tokens(text)
    tokenizer = _tokenizer()
    decoded = tokenizer.decode([piece.id for piece in pieces], skip_special_tokens=True)
    return Split(pieces=pieces, vocabulary=tokenizer.get_vocab_size(), decoded=decoded)


def _with_own_vocabulary(tokens: Sequence[str]) -> Split:
    vocabulary = sorted(set(tokens))
    ids = {token: number for number, token in enumerate(vocabulary)}
    pieces, start = [], 0
    for token in tokens:
        pieces.append(Token(token, ids[token], start, start + len(token), word=None, special=False))
        start += len(token)
    decoded = "".join(vocabulary[piece.id] for piece in pieces)
    return Split(pieces=tuple(pieces), vocabulary=len(vocabulary), decoded=decoded)


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(catalogue.MINILM.folder / "tokenizer.json"))
