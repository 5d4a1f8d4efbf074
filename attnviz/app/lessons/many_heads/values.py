"""What each head adds to a token (its output times its slice of W_O), and what heads and layers cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from attnviz.app.lessons.compute import bert, parameters, run
from attnviz.capture.arrays import owned
from attnviz.models import catalogue
from attnviz.trace import Floats
from attnviz.transformer.bert import Bert
from attnviz.transformer.encoder_decoder import EncoderDecoder
from attnviz.transformer.layers import EncoderLayer
from attnviz.transformer.multi_head import MultiHeadAttention, MultiHeadSteps
from attnviz.transformer.published import BertConfig, read_config


@dataclass(frozen=True, eq=False)
class HeadShares:
    """What the heads of one attention block add to one token.

    Attributes:
        weights: float32 [head, key]: each head's row of weights.
        concatenated: float32 [head, d_head]: what each head read: its piece of the concatenation.
        added: float32 [head, d_model]: each piece times its slice of W_O.
        bias: float32 [d_model]: W_O's bias, which belongs to no head.
        output: float32 [d_model]: what the block gives: the sum of `added`, and the bias.
        lengths: float32 [head]: |added|.
        cosines: float32 [head]: how far `added` points the way of the output, −1 to 1.
        shares: float32 [head]: added · output / |output|²: which part of the output comes from this head.
            Negative if it pulls the other way. All of them and the bias' sum to 1.
        bias_share: the same of the bias.
        output_length: |output|.
    """

    weights: Floats
    concatenated: Floats
    added: Floats
    bias: Floats
    output: Floats
    lengths: Floats
    cosines: Floats
    shares: Floats
    bias_share: float
    output_length: float


def head_shares(attention: MultiHeadAttention, steps: MultiHeadSteps, token: int) -> HeadShares:
    """Concat(head₁, …, head_h) W_O + b_O = Σ headᵢ W_Oᵢ + b_O, summand by summand.

    The share of a summand s in the output o is its projection onto o, in lengths of o: s · o / |o|²
    = |s| cos(s, o) / |o|. A sum's projection is the sum of the projections, and o's own is 1.

    Args:
        attention: the block.
        steps: one pass through it, [head, token, …].
        token: the query token, from 0.
    """
    pieces = steps.attention.output[:, token]
    added = torch.einsum("hd,hdm->hm", pieces, attention.output_projections())
    bias, output = attention.to_output.bias, steps.output[token]
    summands = torch.cat([added, bias[None]])
    lengths, length = summands.norm(dim=-1), output.norm()
    along = summands @ output / length
    # An output of zeros has no direction, so no head has a part of it.
    cosines = (along / lengths).nan_to_num(0)
    shares = (along / length).nan_to_num(0)
    return HeadShares(
        weights=owned(steps.attention.weights[:, token]),
        concatenated=owned(pieces),
        added=owned(added),
        bias=owned(bias),
        output=owned(output),
        lengths=owned(lengths[:-1]),
        cosines=owned(cosines[:-1]),
        shares=owned(shares[:-1]),
        bias_share=float(shares[-1]),
        output_length=float(length),
    )


def cut(attention: MultiHeadAttention, n_heads: int) -> MultiHeadAttention:
    """The same four matrices, cut into another number of heads.

    Raises:
        ValueError: d_model cannot be shared out equally among so many heads.
    """
    with torch.device("meta"):
        other = MultiHeadAttention(attention.to_output.out_features, n_heads)
    other.to_query, other.to_key = attention.to_query, attention.to_key
    other.to_value, other.to_output = attention.to_value, attention.to_output
    return other


def at_token(text: str, layer: int, token: int, n_heads: int) -> HeadShares:
    """What the heads of a layer of the bundled BERT add to one token.

    Args:
        text: the sentence.
        layer, token: which, from 0.
        n_heads: 12 for the heads that the model was trained with; another number for its matrices cut
            otherwise, at work on the very same vectors.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
        ValueError: the vectors cannot be shared out equally among so many heads.
    """
    vectors = run(text).hidden_states[layer]
    trained = bert().encoder.layers[layer].attention
    assert isinstance(trained, MultiHeadAttention)  # noqa: S101 - it is; for the type checker
    attention = cut(trained, n_heads)
    with torch.inference_mode():
        return head_shares(attention, attention(vectors, vectors), token)


def multiply_adds(tokens: int, d_model: int, n_heads: int) -> int:
    """Return 4 N d_model² + 2 h N² d_head, the multiply-adds of an attention block for N tokens.

    Since h · d_head = d_model, the number of heads cancels. Biases, softmax and norms are small and omitted.
    """
    d_head = d_model // n_heads
    return 4 * tokens * d_model**2 + 2 * n_heads * tokens**2 * d_head


@dataclass(frozen=True)
class Cost:
    """One attention block of d_model numbers a token, shared out among some heads.

    Attributes:
        heads, d_head: how many heads, and how many numbers each of them has.
        parameters: of W_Q, W_K, W_V, W_O and their biases, counted on the module.
        multiply_adds: for the sentence; see `multiply_adds`.
        weights: how many weights the sentence gets, one row a token in every head; the softmax computes one
            exponential for each.
    """

    heads: int
    d_head: int
    parameters: int
    multiply_adds: int
    weights: int


def costs(d_model: int, heads: Iterable[int], tokens: int) -> tuple[Cost, ...]:
    """What the same d_model costs for each number of heads, for N = `tokens`.

    Raises:
        ValueError: a number of heads does not divide d_model.
    """
    found = []
    for n_heads in heads:
        with torch.device("meta"):  # sizes without numbers: building them costs nothing
            module = MultiHeadAttention(d_model, n_heads)
        counted = multiply_adds(tokens, d_model, n_heads)
        weights = n_heads * tokens**2
        found.append(Cost(n_heads, d_model // n_heads, parameters(module), counted, weights))
    return tuple(found)


@dataclass(frozen=True)
class Sizes:
    """A published transformer.

    Attributes:
        name: its title.
        d_model, heads, d_feed_forward, layers: its sizes; layers are the encoder's.
        attention, layer: parameters of one attention block, and of one encoder layer with its norms.
        everything: parameters of the whole model.
    """

    name: str
    d_model: int
    heads: int
    d_feed_forward: int
    layers: int
    attention: int
    layer: int
    everything: int

    @property
    def d_head(self) -> int:
        """How many numbers of a vector a head has."""
        return self.d_model // self.heads


# The sizes that the papers give. BERT's vocabulary is that of its published English lower-case files.
BERT_BASE = BertConfig(
    vocab_size=30522,
    hidden_size=768,
    num_hidden_layers=12,
    num_attention_heads=12,
    intermediate_size=3072,
    max_position_embeddings=512,
)
BERT_LARGE = BertConfig(
    vocab_size=30522,
    hidden_size=1024,
    num_hidden_layers=24,
    num_attention_heads=16,
    intermediate_size=4096,
    max_position_embeddings=512,
)
ORIGINAL_VOCABULARY = 37000
"""Vaswani et al. 2017, §5.1: "about 37000 tokens", shared by both languages."""


def original_sizes() -> Sizes:
    """The base model of Vaswani et al. 2017, table 3.

    As in its §3.4 one table serves the source, the target and the last multiplication. Its positions are a
    formula and have no parameters.
    """
    d_model, heads, d_feed_forward, layers = 512, 8, 2048, 6
    with torch.device("meta"):
        model = EncoderDecoder(
            ORIGINAL_VOCABULARY, ORIGINAL_VOCABULARY, d_model, heads, d_feed_forward, layers, layers
        )
        layer = EncoderLayer(d_model, heads, d_feed_forward)
    return _sizes(
        "Original transformer",
        layer,
        layers,
        everything=parameters(model) - parameters(model.target_embedding),
    )


def bert_sizes(name: str, config: BertConfig) -> Sizes:
    """A BERT with the pooler that the published ones have behind their last layer: one more matrix."""
    size = config.hidden_size
    with torch.device("meta"):
        model = Bert(config)
        layer = EncoderLayer(size, config.num_attention_heads, config.intermediate_size)
        pooler = nn.Linear(size, size)
    return _sizes(
        name,
        layer,
        config.num_hidden_layers,
        everything=parameters(model) + parameters(pooler),
    )


def known_sizes() -> tuple[Sizes, ...]:
    """The original, BERT base and large, and the BERT that comes with attnviz."""
    bundled = catalogue.entry(catalogue.names()[0])
    return (
        original_sizes(),
        bert_sizes("BERT base", BERT_BASE),
        bert_sizes("BERT large", BERT_LARGE),
        bert_sizes(bundled.title, read_config(catalogue.MINILM.folder)),
    )


def _sizes(name: str, layer: EncoderLayer, layers: int, everything: int) -> Sizes:
    return Sizes(
        name=name,
        d_model=layer.attention.to_output.out_features,
        heads=layer.attention.n_heads,
        d_feed_forward=layer.feed_forward.expand.out_features,
        layers=layers,
        attention=parameters(layer.attention),
        layer=parameters(layer),
        everything=everything,
    )
