"""How large a transformer is: parameters and multiply-adds, counted on the modules of attnviz.transformer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn

from attnviz.models import catalogue
from attnviz.transformer.bert import Bert
from attnviz.transformer.encoder_decoder import EncoderDecoder
from attnviz.transformer.layers import EncoderLayer
from attnviz.transformer.multi_head import MultiHeadAttention
from attnviz.transformer.published import BertConfig, read_config


@dataclass(frozen=True)
class MultiplyAdds:
    """What one attention block, or one feed-forward network, multiplies and adds for N tokens.

    Attributes:
        projections: N · d_model² for each of W_Q, W_K, W_V and W_O.
        scores: every query with every key, in all heads together.
        averages: every weight with its value, in all heads together.
        feed_forward: N · d_model · d_feed_forward for each of W₁ and W₂.
    """

    projections: int
    scores: int
    averages: int
    feed_forward: int

    @property
    def attention(self) -> int:
        """Of the attention block alone."""
        return self.projections + self.scores + self.averages

    @property
    def layer(self) -> int:
        """Of one encoder layer."""
        return self.attention + self.feed_forward


def multiply_adds(tokens: int, d_model: int, n_heads: int, d_feed_forward: int = 0) -> MultiplyAdds:
    """4 N d_model² + 2 · h · N² · d_head, and 2 N d_model d_feed_forward for the feed-forward network.

    Since h · d_head = d_model, the number of heads drops out. Biases, softmax and norms are little beside
    them and are left out, as usual.

    Args:
        tokens: N, how many tokens look at each other.
        d_model: the size of a token's vector.
        n_heads: h, how many heads share it.
        d_feed_forward: the size inside the feed-forward network; 0: there is none.
    """
    d_head = d_model // n_heads
    looking = n_heads * tokens**2 * d_head
    return MultiplyAdds(4 * tokens * d_model**2, looking, looking, 2 * tokens * d_model * d_feed_forward)


def parameters(module: nn.Module) -> int:
    """How many numbers a module has learned or will learn; shared ones count once."""
    return sum(parameter.numel() for parameter in module.parameters())


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
        counted = multiply_adds(tokens, d_model, n_heads).attention
        weights = n_heads * tokens**2
        found.append(Cost(n_heads, d_model // n_heads, parameters(module), counted, weights))
    return tuple(found)


@dataclass(frozen=True)
class Sizes:
    """A published transformer.

    Attributes:
        name, source: what it is called, and where its sizes are published.
        d_model, heads, d_head, d_feed_forward, layers, vocabulary: its sizes; layers are the encoder's.
        attention, feed_forward, layer, encoder: parameters of one attention block, of one feed-forward
            network, of one encoder layer (both, with their norms), and of all encoder layers.
        everything: parameters of the whole model, as its `parts` say.
        parts: what `everything` counts besides the encoder, in words.
        published: what the paper gives for it, in millions; None where no paper does.
    """

    name: str
    source: str
    d_model: int
    heads: int
    d_head: int
    d_feed_forward: int
    layers: int
    vocabulary: int
    attention: int
    feed_forward: int
    layer: int
    encoder: int
    everything: int
    parts: str
    published: int | None


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


def original() -> Sizes:
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
        "Vaswani et al. 2017, table 3, base",
        layer,
        layers,
        ORIGINAL_VOCABULARY,
        everything=parameters(model) - parameters(model.target_embedding),
        parts="a decoder of as many layers, and one table of words for all its uses",
        published=65,
    )


def bert(name: str, source: str, config: BertConfig, published: int | None = None) -> Sizes:
    """A BERT with the pooler that the published ones have behind their last layer: one more matrix."""
    size = config.hidden_size
    with torch.device("meta"):
        model = Bert(config)
        layer = EncoderLayer(size, config.num_attention_heads, config.intermediate_size)
        pooler = nn.Linear(size, size)
    return _sizes(
        name,
        source,
        layer,
        config.num_hidden_layers,
        config.vocab_size,
        everything=parameters(model) + parameters(pooler),
        parts="the tables of words, positions and segments, and the pooler",
        published=published,
    )


def known() -> tuple[Sizes, ...]:
    """The original, BERT base and large, and the BERT that comes with attnviz."""
    bundled = catalogue.entry(catalogue.names()[0])
    return (
        original(),
        bert("BERT base", "Devlin et al. 2019, §3", BERT_BASE, published=110),
        bert("BERT large", "Devlin et al. 2019, §3", BERT_LARGE, published=340),
        bert(bundled.title, "comes with attnviz", read_config(catalogue.MINILM.folder)),
    )


def _sizes(
    name: str,
    source: str,
    layer: EncoderLayer,
    layers: int,
    vocabulary: int,
    everything: int,
    parts: str,
    published: int | None,
) -> Sizes:
    d_model, heads = layer.attention.to_output.out_features, layer.attention.n_heads
    return Sizes(
        name=name,
        source=source,
        d_model=d_model,
        heads=heads,
        d_head=d_model // heads,
        d_feed_forward=layer.feed_forward.expand.out_features,
        layers=layers,
        vocabulary=vocabulary,
        attention=parameters(layer.attention),
        feed_forward=parameters(layer.feed_forward),
        layer=parameters(layer),
        encoder=layers * parameters(layer),
        everything=everything,
        parts=parts,
        published=published,
    )
