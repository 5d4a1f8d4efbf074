"""BERT with published weights, built from the modules of this folder."""

from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from safetensors.torch import load_file
from torch import Tensor, nn

from attnviz.errors import EmptyText
from attnviz.transformer.layers import Encoder, EncoderLayer, EncoderLayerSteps
from attnviz.transformer.positions import LearnedPositions
from attnviz.transformer.published import BertConfig, published_name, read_config


class BertEmbeddingSteps(NamedTuple):
    """Word, position and segment embeddings, and their normalized sum."""

    words: Float[Tensor, "token d_model"]
    positions: Float[Tensor, "token d_model"]
    segments: Float[Tensor, "token d_model"]
    output: Float[Tensor, "token d_model"]


class BertEmbeddings(nn.Module):
    """LayerNorm(word[id] + segment[sentence] + position[pos])."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocab_size, config.hidden_size)
        self.positions = LearnedPositions(config.max_position_embeddings, config.hidden_size)
        self.segments = nn.Embedding(config.type_vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)

    def forward(
        self, token_ids: Int[Tensor, " token"], segment_ids: Int[Tensor, " token"]
    ) -> BertEmbeddingSteps:
        """Return the embeddings of the tokens, and their normalized sum.

        Raises:
            TextTooLong: there are more tokens than learned positions.
        """
        words = self.words(token_ids)
        positions = self.positions(len(token_ids))
        segments = self.segments(segment_ids)
        return BertEmbeddingSteps(words, positions, segments, self.norm(words + segments + positions))


class BertSteps(NamedTuple):
    """The embeddings, the steps of every layer, and the hidden states before and after each layer."""

    embeddings: BertEmbeddingSteps
    layers: tuple[EncoderLayerSteps, ...]
    hidden_states: tuple[Float[Tensor, "token d_model"], ...]


class Bert(nn.Module):
    """Encoder with learned positions, segment embeddings, and GELU instead of ReLU (Devlin et al. 2019).

    Args:
        config: Sizes, named as in a published `config.json`.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.embeddings = BertEmbeddings(config)
        self.encoder = Encoder(
            EncoderLayer(
                config.hidden_size,
                config.num_attention_heads,
                config.intermediate_size,
                nn.GELU(),
                config.layer_norm_eps,
            )
            for _ in range(config.num_hidden_layers)
        )

    @classmethod
    def from_folder(cls, folder: Path) -> "Bert":
        """Load a published BERT from its `config.json` and `model.safetensors`."""
        tensors = load_file(folder / "model.safetensors")
        # On "meta", the parameters have shapes but no data; the data is read from the file.
        with torch.device("meta"):
            bert = cls(read_config(folder))
        ours = {name: tensors[published_name(name)] for name, _ in bert.named_parameters()}
        bert.load_state_dict(ours, assign=True)
        return bert.eval()

    def forward(
        self,
        token_ids: Int[Tensor, " token"],
        mask: Bool[Tensor, "token token"] | None = None,
        segment_ids: Int[Tensor, " token"] | None = None,
    ) -> BertSteps:
        """Run one forward pass over one text.

        Args:
            token_ids: Token ids, including [CLS] and [SEP].
            mask: [query, key], True where not masked; None masks nothing.
            segment_ids: 0 for tokens of the first sentence, 1 for the second; None for all 0.

        Raises:
            EmptyText: there are no tokens.
            TextTooLong: there are more tokens than learned positions.
            InvalidMask: the mask has the wrong size, or masks all keys of a query.
        """
        if not len(token_ids):
            raise EmptyText("The text has no tokens. Enter at least one word.")
        if segment_ids is None:
            segment_ids = torch.zeros_like(token_ids)
        embeddings = self.embeddings(token_ids, segment_ids)
        encoder = self.encoder(embeddings.output, mask)
        return BertSteps(embeddings, encoder.layers, encoder.hidden_states)
