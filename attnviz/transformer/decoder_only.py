"""A decoder-only transformer such as GPT, which predicts the next token of a text."""

from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnviz.transformer.feed_forward import FeedForward, FeedForwardSteps
from attnviz.transformer.masks import causal_mask
from attnviz.transformer.multi_head import MultiHeadAttention, MultiHeadSteps


class PreNormLayerSteps(NamedTuple):
    """The steps of one layer; `attended` and `output` are the residual sums after the two sub-layers.

    Without a feed-forward network, the two feed-forward fields are None, and `output` is `attended`.
    """

    attention_norm: Float[Tensor, "*batch token d_model"]
    attention: MultiHeadSteps
    attended: Float[Tensor, "*batch token d_model"]
    feed_forward_norm: Float[Tensor, "*batch token d_model"] | None
    feed_forward: FeedForwardSteps | None
    output: Float[Tensor, "*batch token d_model"]


class PreNormLayer(nn.Module):
    """y = x + MultiHead(LayerNorm(x)), then y + FFN(LayerNorm(y)): a layer norm precedes each sub-layer.

    The residual stream itself is never normalized (Xiong et al. 2020). Positions are rotary: they rotate
    queries and keys in every layer, and nothing is added to the embeddings.

    Args:
        d_model: Size of a token's vector.
        n_heads: Number of heads.
        d_feed_forward: Size of the feed-forward network's hidden layer; 0 for no network.
    """

    def __init__(self, d_model: int, n_heads: int, d_feed_forward: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads, rotary=True)
        self.feed_forward_norm = nn.LayerNorm(d_model) if d_feed_forward else None
        self.feed_forward = FeedForward(d_model, d_feed_forward) if d_feed_forward else None

    def forward(
        self,
        tokens: Float[Tensor, "*batch token d_model"],
        mask: Bool[Tensor, "*#batch token key"],
        past: MultiHeadSteps | None = None,
    ) -> PreNormLayerSteps:
        """Run one layer; `past` as in `MultiHeadAttention`.

        Raises:
            InvalidMask: the mask has the wrong size, or masks all keys of a query.
        """
        normed = self.attention_norm(tokens)
        return self.after_attention(tokens, normed, self.attention(normed, normed, mask, past))

    def after_attention(
        self,
        tokens: Float[Tensor, "*batch token d_model"],
        normed: Float[Tensor, "*batch token d_model"],
        attention: MultiHeadSteps,
    ) -> PreNormLayerSteps:
        """Run the layer after its attention: the residual sum, and the feed-forward network, if any."""
        attended = tokens + attention.output
        if self.feed_forward_norm is None or self.feed_forward is None:
            return PreNormLayerSteps(normed, attention, attended, None, None, attended)
        normed_again = self.feed_forward_norm(attended)
        feed_forward = self.feed_forward(normed_again)
        output = attended + feed_forward.output
        return PreNormLayerSteps(normed, attention, attended, normed_again, feed_forward, output)


class DecoderOnlySteps(NamedTuple):
    """All steps from the embeddings to the logits of the next token; `output` is normalized."""

    words: Float[Tensor, "*batch token d_model"]
    layers: tuple[PreNormLayerSteps, ...]
    output: Float[Tensor, "*batch token d_model"]
    logits: Float[Tensor, "*batch token vocabulary"]


class DecoderOnly(nn.Module):
    """Embeddings, layers, a layer norm, and the embedding table as the output matrix (Press and Wolf 2017).

    Args:
        vocabulary: Vocabulary size.
        d_model, n_heads, d_feed_forward: as in `PreNormLayer`.
        layers: Number of layers.
    """

    def __init__(self, vocabulary: int, d_model: int, n_heads: int, d_feed_forward: int, layers: int) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, d_model)
        nn.init.normal_(self.table.weight, std=d_model**-0.5)  # initial logits have variance 1
        self.layers = nn.ModuleList(PreNormLayer(d_model, n_heads, d_feed_forward) for _ in range(layers))
        self.norm = nn.LayerNorm(d_model)

    def forward(
        self, token_ids: Int[Tensor, "*batch token"], past: DecoderOnlySteps | None = None
    ) -> DecoderOnlySteps:
        """Run one forward pass with a causal mask; `past` as in `read`."""
        return self.read(self.table(token_ids), past=past)

    def read(
        self,
        words: Float[Tensor, "*batch token d_model"],
        mask: Bool[Tensor, "*#batch token key"] | None = None,
        past: DecoderOnlySteps | None = None,
    ) -> DecoderOnlySteps:
        """Run one forward pass over embeddings.

        Args:
            mask: True where a query may attend to a key; None for a causal mask.
            past: The pass over the preceding tokens, whose keys and values are reused.

        Raises:
            InvalidMask: the mask has the wrong size, or masks all keys of a query.
        """
        if mask is None:
            first = 0 if past is None else past.layers[0].attention.key.shape[-2]
            mask = causal_mask(first + words.shape[-2])[first:].to(words.device)
        tokens = words
        steps: list[PreNormLayerSteps] = []
        cache = [None] * len(self.layers) if past is None else [layer.attention for layer in past.layers]
        for layer, cached in zip(self.layers, cache, strict=True):
            steps.append(layer(tokens, mask, cached))
            tokens = steps[-1].output
        output = self.norm(tokens)
        return DecoderOnlySteps(words, tuple(steps), output, output @ self.table.weight.T)
