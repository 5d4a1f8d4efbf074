"""A sentence read in another order; four kinds of positions; and what a chosen model does about order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.app.learn.compute import bert, read_only, token_ids
from attnviz.app.learn.compute import tokens as text_tokens
from attnviz.capture.arrays import owned
from attnviz.trace import Floats, Token
from attnviz.transformer.alibi import alibi_bias, alibi_slopes
from attnviz.transformer.bert import Bert
from attnviz.transformer.layers import EncoderSteps
from attnviz.transformer.masks import causal_mask
from attnviz.transformer.positions import sinusoidal
from attnviz.transformer.rotary import rotary_frequencies, rotate

D_MODEL = 64
"""The size of the sinusoidal vectors on show: the paper's 512 would not fit on a screen."""
REACH = 64
"""How many positions a picture shows at least, and how far apart two tokens are moved."""
STARTS = (0, 100, 1000)
"""Where the query stands while the rotary score is measured at every distance."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """One encoder's outputs for the same tokens, read in two orders; both in the order of the second.

    Attributes:
        before: [token, d_model], read in the original order, and then put into the new one.
        after: [token, d_model], read in the new order.
        differences: [token], the largest |before − after| among a token's numbers.
        cosines: [token], the cosine of the angle between before and after.
    """

    before: Floats
    after: Floats
    differences: Floats
    cosines: Floats


@dataclass(frozen=True)
class Twins:
    """One token at two places of the original order, from 0, and how far its two outputs differ at most."""

    first: int
    second: int
    without: float
    with_positions: float


@dataclass(frozen=True, eq=False)
class SetExperiment:
    """A sentence read in two orders, by BERT without its positions and with them.

    Attributes:
        tokens: in the original order.
        order: order[place] is the token (from 0) that stands at a place after the shuffle.
        without, with_positions: the outputs of the last layer.
        twins: the first token that the sentence has twice.
    """

    tokens: tuple[Token, ...]
    order: tuple[int, ...]
    without: Comparison
    with_positions: Comparison
    twins: Twins | None


def shuffled(tokens: tuple[Token, ...], seed: int) -> tuple[int, ...]:
    """A new order of the tokens, the same for one seed; special ones keep their places, and 0 keeps all."""
    words = [place for place, token in enumerate(tokens) if not token.special]
    order = np.arange(len(tokens))
    if seed and len(words) > 1:
        dice = np.random.default_rng(seed)
        while (order == np.arange(len(tokens))).all():
            order[words] = dice.permutation(words)
    return tuple(int(token) for token in order)


def encode(bert: Bert, ids: Int[Tensor, " token"], with_positions: bool) -> EncoderSteps:
    """All layers of a BERT, whose input is LayerNorm(word + segment + position), or that without position."""
    parts = bert.embeddings
    vectors = parts.words(ids) + parts.segments(torch.zeros_like(ids))
    if with_positions:
        vectors = vectors + parts.positions(len(ids))
    steps: EncoderSteps = bert.encoder(parts.norm(vectors))
    return steps


def compare(
    bert: Bert, ids: Int[Tensor, " token"], order: tuple[int, ...], with_positions: bool
) -> Comparison:
    """What each token comes out as in the original order and in another.

    If the encoder sees a set, then encode(shuffled) = shuffled(encode).
    """
    new_order = torch.tensor(order)
    before = encode(bert, ids, with_positions).output[new_order]
    after = encode(bert, ids[new_order], with_positions).output
    return Comparison(
        before=owned(before),
        after=owned(after),
        differences=owned((before - after).abs().amax(dim=-1)),
        cosines=owned(torch.cosine_similarity(before, after)),
    )


def set_experiment(text: str, seed: int) -> SetExperiment:
    """Read a text in its own order and in another, without positions and with them.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    tokens = text_tokens(text)
    ids, order, model = token_ids(tokens), shuffled(tokens, seed), bert()
    with torch.inference_mode():
        without, with_positions = (compare(model, ids, order, choice) for choice in (False, True))
    return SetExperiment(
        tokens, order, without, with_positions, _twins(tokens, order, without, with_positions)
    )


def _twins(
    tokens: tuple[Token, ...], order: tuple[int, ...], without: Comparison, with_positions: Comparison
) -> Twins | None:
    seen: dict[int, int] = {}
    for second, token in enumerate(tokens):
        first = seen.setdefault(token.id, second)
        if first != second:
            rows = [order.index(first), order.index(second)]
            bare, placed = (
                float(np.abs(np.diff(c.before[rows], axis=0)).max()) for c in (without, with_positions)
            )
            return Twins(first, second, bare, placed)
    return None


@dataclass(frozen=True, eq=False)
class Waves:
    """The paper's sines and cosines.

    Attributes:
        encoding: [position, d_model], every position's vector.
        products: [position, position], their dot products.
        by_distance: [distance], the dot product of two positions that far apart.
        rates: [pair], by how many radians a pair's angle grows with each position.
    """

    encoding: Floats
    products: Floats
    by_distance: Floats
    rates: Floats


def waves(tokens: int) -> Waves:
    """The sinusoidal positions of a text of so many tokens, and of some more behind it."""
    encoding = sinusoidal(max(tokens, REACH), D_MODEL)
    products = encoding @ encoding.T
    return Waves(owned(encoding), owned(products), owned(products[0]), owned(rotary_frequencies(D_MODEL)))


def curve(pair: int, positions: int) -> tuple[Floats, Floats, Floats]:
    """A pair of dimensions (from 0) over so many positions, between them too, for the eye.

    Returns:
        Position, sine and cosine of eight points for each position, [point] each.
    """
    position = torch.arange(8 * (positions - 1) + 1, dtype=torch.float64) / 8
    angle = position * rotary_frequencies(D_MODEL)[pair]
    return owned(position), owned(angle.sin()), owned(angle.cos())


@dataclass(frozen=True, eq=False)
class Likeness:
    """How alike the vectors of a table's places are.

    Attributes:
        vectors: [position, d_model], of the first places.
        cosines: [position, position], the cosines between those.
        lengths: [position], of the whole table.
        mean, low, high: [distance], the mean, smallest and largest cosine between two places of the whole
            table that far apart; the first place left out, whose vector is often unlike all others.
    """

    vectors: Floats
    cosines: Floats
    lengths: Floats
    mean: Floats
    low: Floats
    high: Floats


def likeness(every: Floats, tokens: int) -> Likeness:
    """Compare the vectors of a table, [position, d_model], which is read-only.

    Each pair is compared for the first so many places, `tokens`.
    """
    lengths = np.linalg.norm(every, axis=-1)
    directions = every / np.maximum(lengths, np.finfo(np.float32).tiny)[:, None]
    ordinary = directions[1:]
    diagonals = [
        np.einsum("pd,pd->p", ordinary[distance:], ordinary[: len(ordinary) - distance])
        for distance in range(min(REACH, len(ordinary)))
    ]
    arrays = (
        every[:tokens],
        directions[:tokens] @ directions[:tokens].T,
        lengths,
        *(np.array([summed(diagonal) for diagonal in diagonals]) for summed in (np.mean, np.min, np.max)),
    )
    return Likeness(*map(read_only, arrays))


def table(tokens: int) -> Likeness:
    """What BERT learned about the first so many positions, and about distances."""
    return likeness(owned(bert().embeddings.positions.table.detach()), tokens)


@dataclass(frozen=True, eq=False)
class Rotary:
    """One head's scores, where nothing but rotation tells the order.

    Attributes:
        plain: [query, key], q · k / √d_head without any positions.
        scores: [query, key], the same with q and k turned by their places.
        query, key: [d_head], the two chosen vectors before they are turned.
        turned: [position, d_head], the chosen query, were it to stand at each place of the text.
        frequencies: [pair], by how many radians a pair is turned at each step.
        distances: [distance], key's place − query's place.
        moved: [start, distance], the score of the chosen two, the query standing at each of `STARTS`.
    """

    plain: Floats
    scores: Floats
    query: Floats
    key: Floats
    turned: Floats
    frequencies: Floats
    distances: Int[np.ndarray, " distance"]
    moved: Floats


def rotary(text: str, layer: int, head: int, query: int, key: int) -> Rotary:
    """Turn the queries and keys of a head; they come from the model that was given no positions.

    Args:
        text: what is read.
        layer, head: which head, from 0.
        query, key: the two tokens whose distance is changed, from 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    with torch.inference_mode():
        attention = encode(bert(), token_ids(text_tokens(text)), with_positions=False).layers[layer].attention
        queries, keys = attention.query[head], attention.key[head]
        scale = queries.shape[-1] ** -0.5
        places = torch.arange(len(queries))
        scores = rotate(queries, places) @ rotate(keys, places).T * scale
        distances = torch.arange(-REACH, REACH + 1)
        moved = torch.stack([moved_score(queries[query], keys[key], start, distances) for start in STARTS])
    return Rotary(
        plain=owned(queries @ keys.T * scale),
        scores=owned(scores),
        query=owned(queries[query]),
        key=owned(keys[key]),
        turned=owned(rotate(queries[query].expand_as(queries), places)),
        frequencies=owned(rotary_frequencies(queries.shape[-1])),
        distances=owned(distances),
        moved=owned(moved * scale),
    )


def moved_score(
    query: Float[Tensor, " d_head"],
    key: Float[Tensor, " d_head"],
    start: int,
    distances: Int[Tensor, " distance"],
) -> Float[Tensor, " distance"]:
    """The dot product of a query at `start` with a key at `start` + each distance, both turned."""
    here = torch.full_like(distances, start)
    turned_query = rotate(query.expand(len(distances), -1), here)
    turned_key = rotate(key.expand(len(distances), -1), here + distances)
    return (turned_query * turned_key).sum(dim=-1)


@dataclass(frozen=True, eq=False)
class Alibi:
    """Linear biases instead of positions.

    Attributes:
        slopes: [head], each head's m.
        bias: [head, query, key], −m · (query − key); NaN where the key comes later and may not be looked at.
        by_distance: [head, distance], −m · distance.
    """

    slopes: Floats
    bias: Floats
    by_distance: Floats


def alibi(tokens: int, n_heads: int) -> Alibi:
    """The biases of a decoder with so many heads over so many tokens."""
    slopes = alibi_slopes(n_heads)
    bias = alibi_bias(slopes, tokens).masked_fill(~causal_mask(tokens), float("nan"))
    return Alibi(owned(slopes), owned(bias), owned(alibi_bias(slopes, REACH)[:, :, 0]))
