"""A recurrent encoder–decoder with a memory of fixed size, with and without attention."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.transformer.attention import scaled_dot_product_attention

D_EMBEDDING = 64
D_HIDDEN = 128
FORGET_BIAS = 1.0
"""Initial bias of the forget gate f; 1 keeps more of the memory (Jozefowicz et al. 2015)."""


class Memory(NamedTuple):
    """The state of an LSTM: two vectors for a text of any length."""

    hidden: Float[Tensor, "sentence d_hidden"]
    cell: Float[Tensor, "sentence d_hidden"]


class RecurrentSteps(NamedTuple):
    """Intermediate values from two texts to the logits of the next word.

    Attributes:
        outputs: Outputs of the encoder, after each source word.
        memory: State of the encoder after the last word; without attention, the decoder's only input from it.
        hidden_states: Hidden states of the decoder, after each target word.
        logits: Logits of every word as the next one.
    """

    outputs: Float[Tensor, "sentence source d_hidden"]
    memory: Memory
    hidden_states: Float[Tensor, "sentence target d_hidden"]
    logits: Float[Tensor, "sentence target vocabulary"]


class LookBack(nn.Module):
    """Attention of a recurrent decoder to a recurrent encoder's outputs (Bahdanau et al. 2015).

    In the form of Luong et al. 2015: the query is W_q h, keys and values are the outputs (equation 8,
    "general"), and tanh(W [h; attention output]) replaces h (equation 5).

    Args:
        d_hidden: Size of h and of an output.
    """

    def __init__(self, d_hidden: int) -> None:
        super().__init__()
        self.to_query = nn.Linear(d_hidden, d_hidden, bias=False)
        self.with_what_is_read = nn.Linear(2 * d_hidden, d_hidden)

    def forward(
        self,
        hidden_states: Float[Tensor, "sentence target d_hidden"],
        outputs: Float[Tensor, "sentence source d_hidden"],
    ) -> Float[Tensor, "sentence target d_hidden"]:
        """Return the vectors that replace the decoder's hidden states."""
        # |h| ≤ 1: divided by √d_hidden, all initial scores would be near 0.
        steps = scaled_dot_product_attention(self.to_query(hidden_states), outputs, outputs, scale=1.0)
        mixed: Tensor = self.with_what_is_read(torch.cat((hidden_states, steps.output), dim=-1)).tanh()
        return mixed


class RecurrentEncoderDecoder(nn.Module):
    """Two LSTMs: an encoder, and a decoder that starts from its state (Sutskever et al. 2014).

    At each word x, an LSTM updates its memory c and its output h (Hochreiter & Schmidhuber 1997; Gers et al.
    2000) with gates i, f and o between 0 and 1. The gates and g are computed from x and the previous h:

        c = f ⊙ c + i ⊙ tanh(g)        h = o ⊙ tanh(c)

    Each has one layer, where the paper has four, and the source is not reversed as in the paper.
    The output matrix is the target's embedding table, as in the transformer.

    With attention, `LookBack` first transforms each h of the decoder.

    Args:
        source_vocabulary, target_vocabulary: Vocabulary sizes.
        d_embedding: Size of an embedding.
        d_hidden: Size of c and h.
        attention: Let the decoder attend to the encoder's outputs.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        d_embedding: int = D_EMBEDDING,
        d_hidden: int = D_HIDDEN,
        attention: bool = False,
    ) -> None:
        super().__init__()
        self.source_table = nn.Embedding(source_vocabulary, d_embedding)
        self.target_table = nn.Embedding(target_vocabulary, d_embedding)
        for table in (self.source_table, self.target_table):  # as in the transformer
            nn.init.normal_(table.weight, std=d_embedding**-0.5)
        self.encoder = nn.LSTM(d_embedding, d_hidden, batch_first=True)
        self.decoder = nn.LSTM(d_embedding, d_hidden, batch_first=True)
        for lstm in (self.encoder, self.decoder):
            # torch adds two biases, each with the gates i, f, g and o in this order.
            for bias, number in (("bias_ih_l0", FORGET_BIAS), ("bias_hh_l0", 0.0)):
                nn.init.constant_(lstm.get_parameter(bias)[d_hidden : 2 * d_hidden], number)
        self.look_back = LookBack(d_hidden) if attention else None
        self.to_word = nn.Linear(d_hidden, d_embedding)

    def forward(
        self, source_ids: Int[Tensor, "sentence source"], target_ids: Int[Tensor, "sentence target"]
    ) -> RecurrentSteps:
        """Run one pass over both texts.

        Args:
            source_ids: Source texts of equal length.
            target_ids: Target texts so far, including the start token.
        """
        outputs, memory = self.encoder(self.source_table(source_ids))
        hidden_states, _ = self.decoder(self.target_table(target_ids), memory)
        attended = hidden_states if self.look_back is None else self.look_back(hidden_states, outputs)
        logits = self.to_word(attended) @ self.target_table.weight.T
        kept = Memory(*(vectors[0] for vectors in memory))
        return RecurrentSteps(outputs, kept, hidden_states, logits)


def build(seed: int, attention: bool = False) -> RecurrentEncoderDecoder:
    """Return an untrained network for the two vocabularies.

    Args:
        seed: Seed of the initial weights; torch's global random state is unchanged.
        attention: as in `RecurrentEncoderDecoder`.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RecurrentEncoderDecoder(len(ENGLISH), len(FRENCH), attention=attention)


def save(model: RecurrentEncoderDecoder, file: Path) -> None:
    """Write the weights in float16."""
    save_file({name: tensor.half() for name, tensor in model.state_dict().items()}, file)


def load(file: Path, attention: bool) -> RecurrentEncoderDecoder:
    """Load a network, in float32."""
    model = build(seed=0, attention=attention)
    model.load_state_dict(load_file(file))
    return model
