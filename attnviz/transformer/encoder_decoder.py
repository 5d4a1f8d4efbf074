"""The whole transformer of the paper: it reads a source text and predicts the next target token."""

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
    """The words' vectors, the positions' vectors, and their sum."""

    words: Float[Tensor, "*batch token d_model"]
    positions: Float[Tensor, "token d_model"]
    output: Float[Tensor, "*batch token d_model"]


class Embedding(nn.Module):
    """√d_model · E[id] + PE(pos) (Vaswani et al. 2017, §3.4 and §3.5).

    Args:
        vocabulary: how many different tokens there are.
        d_model: the size of a token's vector.
        dropout: the fraction of the sum that is dropped at random in training (§5.4).
    """

    def __init__(self, vocabulary: int, d_model: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, d_model)
        # √d_model · E then has variance 1, as large as the positions' sines and cosines.
        nn.init.normal_(self.table.weight, std=d_model**-0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, token_ids: Int[Tensor, "*batch token"]) -> EmbeddingSteps:
        """From the tokens' numbers in the vocabulary to vectors."""
        d_model = self.table.embedding_dim
        words = self.table(token_ids) * d_model**0.5
        positions = sinusoidal(token_ids.shape[-1], d_model).to(words)
        return EmbeddingSteps(words, positions, self.dropout(words + positions))


class EncoderDecoderSteps(NamedTuple):
    """Everything from the two texts' vectors to the scores of the next word (logits)."""

    source: EmbeddingSteps
    encoder: EncoderSteps
    target: EmbeddingSteps
    decoder: DecoderSteps
    logits: Float[Tensor, "*batch target vocabulary"]

    @property
    def probabilities(self) -> Float[Tensor, "*batch target vocabulary"]:
        """For each target token, how probable each word is as the next one."""
        return self.logits.softmax(dim=-1)


class EncoderDecoder(nn.Module):
    """The model of Vaswani et al. 2017, figure 1; the defaults are its base model (table 3).

    As in §3.4, the last matrix is the target's embedding table again: a word scores high if its vector
    points the way of the decoder's output.

    Args:
        source_vocabulary, target_vocabulary: how many different tokens each text has.
        d_model: the size of a token's vector.
        n_heads: how many heads share it.
        d_feed_forward: the size inside the feed-forward networks.
        encoder_layers, decoder_layers: how many of each.
        dropout: the fraction dropped at random in training; call `.eval()` to drop nothing.
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
        target_mask: Bool[Tensor, "*#batch target target"] | None = None,
        cross_mask: Bool[Tensor, "*#batch target source"] | None = None,
    ) -> EncoderDecoderSteps:
        """One pass over both texts.

        Args:
            source_mask: where the source may look in itself; None: everywhere.
            target_mask: where the target may look in itself; None: never ahead.
            cross_mask: where the target may look in the source; None: everywhere.

        Raises:
            InvalidMask: a mask has the wrong size, or lets a token look nowhere.
        """
        source = self.source_embedding(source_ids)
        encoder = self.encoder(source.output, source_mask)
        return EncoderDecoderSteps(
            source, encoder, *self.decode(target_ids, encoder.output, target_mask, cross_mask)
        )

    def decode(
        self,
        target_ids: Int[Tensor, "*batch target"],
        encoded: Float[Tensor, "*batch source d_model"],
        target_mask: Bool[Tensor, "*#batch target target"] | None = None,
        cross_mask: Bool[Tensor, "*#batch target source"] | None = None,
    ) -> tuple[EmbeddingSteps, DecoderSteps, Float[Tensor, "*batch target vocabulary"]]:
        """The second half of a pass: the target's vectors, the decoder's steps and the logits.

        Args:
            encoded: what the encoder has put out for the source.
            target_mask, cross_mask: as `forward` takes them.
        """
        target = self.target_embedding(target_ids)
        decoder = self.decoder(target.output, encoded, target_mask, cross_mask)
        return target, decoder, decoder.output @ self.target_embedding.table.weight.T
