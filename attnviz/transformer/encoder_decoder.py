"""The paper's complete transformer, which predicts the next target token from a source text."""

from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnviz.transformer.layers import (
    Decoder,
    DecoderLayer,
    DecoderSteps,
    Encoder,
    EncoderLayer,
    EncoderSteps,
)
from attnviz.transformer.positions import sinusoidal


class EmbeddingSteps(NamedTuple):
    """Scaled embeddings, position vectors, and their sum."""

    words: Float[Tensor, "*batch token d_model"]
    positions: Float[Tensor, "token d_model"]
    output: Float[Tensor, "*batch token d_model"]


class Embedding(nn.Module):
    """√d_model · E[id] + PE(pos) (Vaswani et al. 2017, §3.4 and §3.5).

    Args:
        vocabulary: Vocabulary size.
        d_model: Size of a token's vector.
        dropout: Dropout rate of the sum in training (§5.4).
    """

    def __init__(self, vocabulary: int, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, d_model)
        # √d_model · E then has variance 1, comparable in size to the sines and cosines of the positions.
        nn.init.normal_(self.table.weight, std=d_model**-0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, token_ids: Int[Tensor, "*batch token"]) -> EmbeddingSteps:
        """Embed token ids."""
        d_model = self.table.embedding_dim
        words = self.table(token_ids) * d_model**0.5
        positions = sinusoidal(token_ids.shape[-1], d_model).to(words)
        return EmbeddingSteps(words, positions, self.dropout(words + positions))


class EncoderDecoderSteps(NamedTuple):
    """All steps from the embeddings of both texts to the logits of the next token."""

    source: EmbeddingSteps
    encoder: EncoderSteps
    target: EmbeddingSteps
    decoder: DecoderSteps
    logits: Float[Tensor, "*batch target vocabulary"]

    @property
    def probabilities(self) -> Float[Tensor, "*batch target vocabulary"]:
        """The probabilities of the next token after each target token."""
        return self.logits.softmax(dim=-1)


class EncoderDecoder(nn.Module):
    """The model of Vaswani et al. 2017, figure 1; the defaults are its base model (table 3).

    As in §3.4, the output matrix is the target's embedding table: a token's logit is the dot product of its
    embedding and the decoder's output.

    Args:
        source_vocabulary, target_vocabulary: Vocabulary sizes.
        d_model: Size of a token's vector.
        n_heads: Number of heads.
        d_feed_forward: Size of the feed-forward networks' hidden layers.
        encoder_layers, decoder_layers: Numbers of layers.
        dropout: Dropout rate in training; `.eval()` disables it.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        d_model: int = 512,
        n_heads: int = 8,
        d_feed_forward: int = 2048,
        encoder_layers: int = 6,
        decoder_layers: int = 6,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.source_embedding = Embedding(source_vocabulary, d_model, dropout)
        self.target_embedding = Embedding(target_vocabulary, d_model, dropout)
        self.encoder = Encoder(
            EncoderLayer(d_model, n_heads, d_feed_forward, dropout=dropout) for _ in range(encoder_layers)
        )
        self.decoder = Decoder(
            DecoderLayer(d_model, n_heads, d_feed_forward, dropout=dropout) for _ in range(decoder_layers)
        )

    def forward(
        self,
        source_ids: Int[Tensor, "*batch source"],
        target_ids: Int[Tensor, "*batch target"],
        source_mask: Bool[Tensor, "*#batch source source"] | None = None,
        cross_mask: Bool[Tensor, "*#batch target source"] | None = None,
    ) -> EncoderDecoderSteps:
        """Run one forward pass over both texts; the target's self-attention has a causal mask.

        Args:
            source_mask: Mask of the source's self-attention; None masks nothing.
            cross_mask: Mask of the cross-attention; None masks nothing.

        Raises:
            InvalidMask: a mask has the wrong size, or masks all keys of a query.
        """
        source = self.source_embedding(source_ids)
        encoder = self.encoder(source.output, source_mask)
        target = self.target_embedding(target_ids)
        decoder = self.decoder(target.output, encoder.output, cross_mask)
        logits = decoder.output @ self.target_embedding.table.weight.T
        return EncoderDecoderSteps(source, encoder, target, decoder, logits)
