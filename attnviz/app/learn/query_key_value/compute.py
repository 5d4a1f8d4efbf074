"""Query, key and value: the six steps from a token's vector to what one head reads for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnviz.analysis.arithmetic import SoftmaxRow, softmax_row
from attnviz.app.learn.compute import MODEL, bert, run, tokens
from attnviz.app.learn.translate.values import attention_of
from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.capture.translator import words
from attnviz.errors import InvalidTrace
from attnviz.interventions.editing import attention_at, places
from attnviz.trace import Floats, Kind, Mask, Token
from attnviz.transformer.attention import scaled_dot_product_attention
from attnviz.transformer.masks import no_mask
from attnviz.transformer.multi_head import MultiHeadAttention, MultiHeadSteps

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
        scores: step 4, the dot products ÷ √d_head, also where the token may not look.
        weights: step 5, their softmax; they sum to 1, and are exactly 0 where the token may not look.
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
    vector: Float[Tensor, " d_model"],
    vectors: Float[Tensor, "token d_model"],
    to_query: Projection,
    to_key: Projection,
    to_value: Projection,
    *,
    allowed: Bool[Tensor, " token"] | None = None,
) -> SixSteps:
    """softmax(q Kᵀ / √d_head) V for one token (Vaswani et al. 2017, equation 1, one row of it).

    Args:
        vector: of the token that looks.
        vectors: of the tokens that it looks at, one a row: in self-attention its own is among them, in
            cross-attention they are another text's.
        to_query, to_key, to_value: the head's three maps.
        allowed: True where it may look; None: everywhere.
    """
    query = vector @ to_query.matrix + to_query.bias
    keys = vectors @ to_key.matrix + to_key.bias
    values = vectors @ to_value.matrix + to_value.bias
    mask = None if allowed is None else allowed.unsqueeze(0)
    attention = scaled_dot_product_attention(query.unsqueeze(0), keys, values, mask)
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


@dataclass(frozen=True, eq=False)
class Looks:
    """Who may look at whom in one layer's attention of one kind.

    Attributes:
        kind: of the attention.
        query_tokens, key_tokens: the tokens that look, and those that are looked at.
        query_text, key_text: the texts that they stand in.
        mask: [query, key], True where a token may look.
    """

    kind: Kind
    query_tokens: tuple[Token, ...]
    key_tokens: tuple[Token, ...]
    query_text: str
    key_text: str
    mask: Mask


class LayerAttention(NamedTuple):
    """One layer's attention of one kind, while its model reads a text.

    Attributes:
        looks: its tokens, and its mask.
        attention: the layer's learned matrices.
        passed: what it computed.
        queries_from: the vectors of the tokens that look.
        keys_from: the vectors of those that are looked at; in self-attention the same.
    """

    looks: Looks
    attention: MultiHeadAttention
    passed: MultiHeadSteps
    queries_from: Float[Tensor, "query d_model"]
    keys_from: Float[Tensor, "key d_model"]


def layer_attention(model: str, kind: Kind, text: str, layer: int) -> LayerAttention:
    """Let a model read a text, and look at one layer of one kind of attention.

    Args:
        model: the bundled BERT, or a translator; its name in the catalogue.
        kind: BERT has "encoder" only.
        text: the sentence; a translator translates it, and its decoder reads the translation.
        layer: from 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the text cannot be read as it is.
        ModelNotSupported, UnknownModel, ModelFilesDamaged: the model cannot be used.
        InvalidTrace: it has no such attention.
    """
    if model != MODEL:
        return _of_translator(model, kind, text, layer)
    if kind != "encoder":
        raise InvalidTrace(f"BERT is an encoder: it has no {kind} attention.")
    return _of_bert(text, layer)


def _of_bert(text: str, layer: int) -> LayerAttention:
    passed, text_tokens = run(text), tokens(text)
    attention = bert().encoder.layers[layer].attention
    assert isinstance(attention, MultiHeadAttention)  # noqa: S101 - it is; for the type checker
    vectors, mask = passed.hidden_states[layer], owned(no_mask(len(text_tokens), len(text_tokens)))
    looks = Looks("encoder", text_tokens, text_tokens, text, text, mask)
    return LayerAttention(looks, attention, passed.layers[layer].attention, vectors, vectors)


def _of_translator(model: str, kind: Kind, text: str, layer: int) -> LayerAttention:
    loaded = loading.load_translator(model)
    trace = loaded.trace(text)
    block, cross = trace.block(kind, layer), trace.block("cross", layer=0)
    steps = loaded.translator.steps(words(cross.key_tokens), words(cross.query_tokens))
    network = loaded.translator.model
    match kind:
        case "encoder":
            queries_from = keys_from = steps.encoder.hidden_states[layer]
        case "decoder":
            queries_from = keys_from = steps.decoder.hidden_states[layer]
        case "cross":
            queries_from = steps.decoder.layers[layer].attention_add_norm.output
            keys_from = steps.encoder.output
    english, french = trace.text, str(trace.target)
    query_text = english if kind == "encoder" else french
    key_text = french if kind == "decoder" else english
    looks = Looks(kind, block.query_tokens, block.key_tokens, query_text, key_text, block.mask)
    attention, passed = attention_at(network, places(network)[kind, layer]), attention_of(steps, kind, layer)
    return LayerAttention(looks, attention, passed, queries_from, keys_from)


@dataclass(frozen=True, eq=False, kw_only=True)
class Walk(Looks):
    """The six steps of one token in one head, all float32, and what the model itself computed.

    Attributes:
        layer, head, token: whose steps these are, from 0.
        vectors: [key, d_model], what the layer reads.
        query_matrix, key_matrix, value_matrix: [d_model, d_head], the head's own.
        query_bias, key_bias, value_bias: [d_head].
        vector, query, keys, values, dot_products, scores, weights, output: those of `SixSteps`.
        model_output: [d_head], what this head gave for this token when the whole model ran.
        model_scores, model_weights: [query, key], the head's own when the whole model ran.
    """

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
    def crosses(self) -> bool:
        """True if the token looks at another text than its own."""
        return self.kind == "cross"

    @property
    def allowed(self) -> Mask:
        """[key], True where the token may look."""
        allowed: Mask = self.mask[self.token]
        return allowed

    @property
    def softmax(self) -> SoftmaxRow:
        """How the weights come about: the same steps as in Explore's "Why this number?"."""
        return softmax_row(self.scores, self.allowed)

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
        values = self.values[self.allowed]
        constraints = np.column_stack([values, np.ones(len(values))])
        return len(values) - int(np.linalg.matrix_rank(constraints))

    @property
    def rows(self) -> tuple[int, ...]:
        """The keys that a readable picture writes out, from 0, in the order of the text.

        Of a long text: the token that looks, if it is one of them, and those that it looks at most.
        """
        if len(self.key_tokens) <= MOST_ROWS:
            return tuple(range(len(self.key_tokens)))
        itself = [] if self.crosses else [self.token]
        others = [int(key) for key in np.argsort(-self.weights, kind="stable") if key not in itself]
        return tuple(sorted([*itself, *others][:MOST_ROWS]))

    @property
    def query_rows(self) -> tuple[int, ...]:
        """The queries that a readable table writes out, from 0, in the order of the text.

        Of a long text: the tokens of `rows`; in cross-attention, those around the token that looks.
        """
        if not self.crosses:
            return self.rows
        first = min(self.token - MOST_ROWS // 2, len(self.query_tokens) - MOST_ROWS)
        return tuple(range(len(self.query_tokens)))[max(0, first) :][:MOST_ROWS]


def walk(text: str, layer: int, head: int, token: int, model: str = MODEL, kind: Kind = "encoder") -> Walk:
    """The six steps of one token in one head, all from 0; `model` and `kind` are as in `layer_attention`.

    In a translator's decoder, the token is one of the translation.

    Raises:
        All that `layer_attention` raises.
    """
    looks, attention, of_model, queries_from, keys_from = layer_attention(model, kind, text, layer)
    d_head = of_model.query.shape[-1]
    linears = {"query": attention.to_query, "key": attention.to_key, "value": attention.to_value}
    with torch.inference_mode():
        maps = {role: of_head(linear, head, d_head) for role, linear in linears.items()}
        allowed = torch.tensor(looks.mask[token])
        steps = six_steps(queries_from[token], keys_from, *maps.values(), allowed=allowed)
        arrays = {
            "vectors": keys_from,
            **{f"{role}_{name}": part for role, of in maps.items() for name, part in of._asdict().items()},
            **steps._asdict(),
            "model_output": of_model.attention.output[head, token],
            "model_scores": of_model.attention.scores[head],
            "model_weights": of_model.attention.weights[head],
        }
    numbers: dict[str, Any] = {name: owned(array.detach()) for name, array in arrays.items()}
    return Walk(**vars(looks), layer=layer, head=head, token=token, **numbers)
