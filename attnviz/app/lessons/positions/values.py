"""Positional encodings (sinusoidal, learned, rotary, ALiBi, relative), and BERT on shuffled words."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from attnviz.app.lessons.compute import bert, read_only, token_ids
from attnviz.app.lessons.compute import tokens as text_tokens
from attnviz.capture.arrays import owned
from attnviz.trace import Floats, Token
from attnviz.transformer.alibi import alibi_bias, alibi_slopes
from attnviz.transformer.bert import Bert
from attnviz.transformer.layers import EncoderSteps
from attnviz.transformer.positions import sinusoidal
from attnviz.transformer.rotary import rotary_frequencies, rotate

D_MODEL = 64
"""Size of the sinusoidal vectors; the paper's 512 columns do not fit on a screen."""
REACH = 64
"""Number of positions or distances in a picture; long texts have more."""
STARTS = (0, 100, 1000)
"""Shifts of the positions of a query and a key, for which their rotary scores are compared."""


@dataclass(frozen=True, eq=False)
class Waves:
    """Sinusoidal position vectors.

    Attributes:
        encoding: [position, d_model].
        by_distance: [distance], dot product of two position vectors at this distance.
        rates: [pair], angle in radians between adjacent positions.
    """

    encoding: Floats
    by_distance: Floats
    rates: Floats


@dataclass(frozen=True, eq=False)
class Shift:
    """PE(pos), PE(pos) rotated by a shift, and PE(pos + shift): [d_model] each."""

    before: Floats
    rotated: Floats
    after: Floats


@dataclass(frozen=True, eq=False)
class Similarity:
    """Cosines between the vectors of a table of positions, by distance; position 0 is excluded.

    Attributes:
        limit: Number of positions in the table.
        mean, low, high: [distance], mean, minimum and maximum of all pairs at that distance.
    """

    limit: int
    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Rotary:
    """The score of a query and a key with rotary positions.

    Attributes:
        distances: [distance], position of the key − position of the query.
        scores: [start, distance], with the query at each of the positions `starts`.
        starts: [start], positions of the query.
    """

    distances: Int[np.ndarray, " distance"]
    scores: Floats
    starts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of the outputs for the same tokens in two orders.

    Attributes:
        differences: [token], the largest absolute difference of a token's two outputs.
        cosines: [token], the cosine of a token's two outputs.
    """

    differences: Floats
    cosines: Floats


@dataclass(frozen=True, eq=False)
class Shuffle:
    """BERT's outputs for a text in another order, compared with the outputs for the original order.

    Attributes:
        order: [token], original position of the token at each new position, from 0.
        without, with_positions: Comparison for BERT without and with its position vectors.
    """

    order: tuple[int, ...]
    without: Comparison
    with_positions: Comparison


def waves(tokens: int) -> Waves:
    """Return the sinusoidal vectors for a text with this many tokens, for at least `REACH` positions."""
    encoding = sinusoidal(max(tokens, REACH), D_MODEL)
    return Waves(owned(encoding), owned(encoding @ encoding[0]), owned(rotary_frequencies(D_MODEL)))


def wave(pair: int, positions: int) -> tuple[Floats, Floats, Floats]:
    """Return positions in steps of 1/8, and a pair's sine and cosine at these positions, [point] each."""
    position = torch.arange(8 * (positions - 1) + 1, dtype=torch.float64) / 8
    angle = position * rotary_frequencies(D_MODEL)[pair]
    return owned(position), owned(angle.sin()), owned(angle.cos())


def shift(position: int, k: int) -> Shift:
    """Rotate PE(position) by k positions, and compute PE(position + k) by the formula."""
    encoding = sinusoidal(position + k + 1, D_MODEL)
    before = encoding[position]
    # The encoding has pairs (sine, cosine); `rotate` turns (cosine, sine) counterclockwise.
    rotated = rotate(_swapped(before)[None], torch.tensor([k]))[0]
    return Shift(owned(before), owned(_swapped(rotated)), owned(encoding[position + k]))


def _swapped(vector: Tensor) -> Tensor:
    return vector.reshape(-1, 2).flip(1).reshape(-1)


def similarity(table: Floats) -> Similarity:
    """Return the cosines between the vectors of a table, [position, d_model], by distance."""
    vectors = table[1:]
    directions = vectors / np.maximum(
        np.linalg.norm(vectors, axis=-1, keepdims=True), np.finfo(np.float32).tiny
    )
    cosines = directions @ directions.T
    diagonals = [np.diagonal(cosines, distance) for distance in range(min(REACH, len(cosines)))]
    statistics = (np.array([of(diagonal) for diagonal in diagonals]) for of in (np.mean, np.min, np.max))
    return Similarity(len(table), *map(read_only, statistics))


def learned() -> Similarity:
    """Return the cosines between the learned positions of the bundled BERT, by distance."""
    return similarity(owned(bert().embeddings.positions.table.detach()))


def rotary(text: str, layer: int, head: int, query: int, key: int) -> Rotary:
    """Return the rotary scores of a query and a key from BERT without its position vectors.

    Args:
        text: Input of the model.
        layer, head, query, key: Indices, from 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the model cannot read the text.
    """
    reach = max(REACH, abs(key - query))
    distances = torch.arange(-reach, reach + 1)
    starts = tuple(query + start for start in STARTS)
    with torch.inference_mode():
        attention = encode(bert(), token_ids(text_tokens(text)), with_positions=False).layers[layer].attention
        q, k = attention.query[head, query], attention.key[head, key]
        rows = []
        for start in starts:
            positions = torch.full_like(distances, start)
            rotated_q = rotate(q.expand(len(distances), -1), positions)
            rotated_k = rotate(k.expand(len(distances), -1), positions + distances)
            rows.append((rotated_q * rotated_k).sum(dim=-1) / len(q) ** 0.5)
    return Rotary(owned(distances), owned(torch.stack(rows)), starts)


def alibi(n_heads: int) -> tuple[Floats, Floats]:
    """Return the slopes, [head], and the biases, [head, distance], of ALiBi with this many heads."""
    slopes = alibi_slopes(n_heads)
    return owned(slopes), owned(alibi_bias(slopes, REACH)[:, :, 0])


def t5_buckets(
    distances: Int[np.ndarray, " distance"], buckets: int = 32, furthest: int = 128
) -> Int[np.ndarray, " distance"]:
    """Return the bucket of each distance, key − query, in T5's encoder (Raffel et al. 2020, section 2.1).

    Half of the buckets are for keys after the query. In each direction, the first half of the buckets have
    one distance each; the other buckets cover ranges that grow exponentially, up to `furthest`.
    """
    half, exact = buckets // 2, buckets // 4
    size = np.abs(distances)
    logarithm = np.log(np.maximum(size, 1) / exact) / log(furthest / exact)
    large = np.minimum(exact + (logarithm * (half - exact)).astype(int), half - 1)
    return np.asarray(np.where(size < exact, size, large) + half * (distances > 0))


def shuffled(tokens: tuple[Token, ...], seed: int) -> tuple[int, ...]:
    """Return a random order that keeps the places of special tokens; seed 0: the original order."""
    words = [place for place, token in enumerate(tokens) if not token.special]
    order = np.arange(len(tokens))
    if seed and len(words) > 1:
        random = np.random.default_rng(seed)
        while (order == np.arange(len(tokens))).all():
            order[words] = random.permutation(words)
    return tuple(int(token) for token in order)


def encode(bert: Bert, ids: Int[Tensor, " token"], with_positions: bool) -> EncoderSteps:
    """Run BERT's layers on LayerNorm(word + segment + position), or on LayerNorm(word + segment)."""
    parts = bert.embeddings
    vectors = parts.words(ids) + parts.segments(torch.zeros_like(ids))
    if with_positions:
        vectors = vectors + parts.positions(len(ids))
    steps: EncoderSteps = bert.encoder(parts.norm(vectors))
    return steps


def compare(
    bert: Bert, ids: Int[Tensor, " token"], order: tuple[int, ...], with_positions: bool
) -> Comparison:
    """Compare BERT's outputs for the tokens in the original order and in `order`."""
    new_order = torch.tensor(order)
    before = encode(bert, ids, with_positions).output[new_order]
    after = encode(bert, ids[new_order], with_positions).output
    return Comparison(
        owned((before - after).abs().amax(dim=-1)), owned(torch.cosine_similarity(before, after))
    )


def shuffle(text: str, seed: int) -> Shuffle:
    """Run BERT on a text in the original and in a random order, without and with positions.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the model cannot read the text.
    """
    tokens = text_tokens(text)
    ids, order, model = token_ids(tokens), shuffled(tokens, seed), bert()
    with torch.inference_mode():
        without, with_positions = (compare(model, ids, order, choice) for choice in (False, True))
    return Shuffle(order, without, with_positions)
