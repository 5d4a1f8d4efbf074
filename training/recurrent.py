"""A network that reads word by word into a memory of fixed size, with and without attention."""

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
"""Of the gate f before training; 1 keeps more of the memory (Jozefowicz et al. 2015)."""


class Memory(NamedTuple):
    """What an LSTM keeps of what it has read: two vectors, however long the text was."""

    hidden: Float[Tensor, "sentence d_hidden"]
    cell: Float[Tensor, "sentence d_hidden"]


class RecurrentSteps(NamedTuple):
    """From two texts to the scores of the next word (logits).

    Attributes:
        outputs: the encoder's, after each source word.
        memory: the encoder's after the last one. Without attention, nothing else reaches the decoder.
        hidden_states: the decoder's, after each target word.
        logits: the scores of every word as the next one.
    """

    outputs: Float[Tensor, "sentence source d_hidden"]
    memory: Memory
    hidden_states: Float[Tensor, "sentence target d_hidden"]
    logits: Float[Tensor, "sentence target vocabulary"]


class LookBack(nn.Module):
    """Attention of a recurrent decoder to a recurrent encoder's outputs (Bahdanau et al. 2015).

    In the form of Luong et al. 2015: the query is W_q h, keys and values are the outputs (equation 8,
    "general"), and tanh(W [h; what was read]) takes the place of h (equation 5).

    Args:
        d_hidden: the size of h, and of an output.
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
        """Return what takes the place of the decoder's hidden states."""
        # No entry of h exceeds 1: divided by √d_hidden, all the scores would begin near 0.
        steps = scaled_dot_product_attention(self.to_query(hidden_states), outputs, outputs, scale=1.0)
        mixed: Tensor = self.with_what_is_read(torch.cat((hidden_states, steps.output), dim=-1)).tanh()
        return mixed


class RecurrentEncoderDecoder(nn.Module):
    """Two LSTMs: one reads word by word, the other begins with its memory and writes (Sutskever et al. 2014).

    At each word x an LSTM renews its memory c and its output h (Hochreiter & Schmidhuber 1997; Gers et al.
    2000), by gates i, f and o between 0 and 1, which are computed from x and the former h, as is g:

        c = f ⊙ c + i ⊙ tanh(g)        h = o ⊙ tanh(c)

    One layer each, where the paper has four; and the source is read forwards, where the paper reverses it.
    The last matrix is the target's embedding table again, as in the transformer.

    With attention, each h of the decoder is first replaced by what `LookBack` makes of it.

    Args:
        source_vocabulary, target_vocabulary: how many different words each text has.
        d_embedding: the size of a word's vector.
        d_hidden: the size of c, and of h.
        attention: whether the decoder also looks back at the encoder's outputs.
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
            # torch adds up two biases, each of the gates i, f, g and o, one after the other.
            for bias, number in (("bias_ih_l0", FORGET_BIAS), ("bias_hh_l0", 0.0)):
                nn.init.constant_(lstm.get_parameter(bias)[d_hidden : 2 * d_hidden], number)
        self.look_back = LookBack(d_hidden) if attention else None
        self.to_word = nn.Linear(d_hidden, d_embedding)

    def forward(
        self, source_ids: Int[Tensor, "sentence source"], target_ids: Int[Tensor, "sentence target"]
    ) -> RecurrentSteps:
        """One pass over both texts.

        Args:
            source_ids: the texts to read, all equally long.
            target_ids: the texts so far, from their start token on.
        """
        outputs, memory = self.encoder(self.source_table(source_ids))
        hidden_states, _ = self.decoder(self.target_table(target_ids), memory)
        attended = hidden_states if self.look_back is None else self.look_back(hidden_states, outputs)
        logits = self.to_word(attended) @ self.target_table.weight.T
        kept = Memory(*(vectors[0] for vectors in memory))
        return RecurrentSteps(outputs, kept, hidden_states, logits)


def build(seed: int, attention: bool = False) -> RecurrentEncoderDecoder:
    """A network that has learned nothing yet, between the two vocabularies.

    Args:
        seed: chooses its first random weights; torch's own random numbers go on as if nothing had happened.
        attention: as in `RecurrentEncoderDecoder`.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RecurrentEncoderDecoder(len(ENGLISH), len(FRENCH), attention=attention)


def save(model: RecurrentEncoderDecoder, file: Path) -> None:
    """Write the weights in float16."""
    save_file({name: tensor.half() for name, tensor in model.state_dict().items()}, file)


def load(file: Path, attention: bool) -> RecurrentEncoderDecoder:
    """Read a network from its file, in float32."""
    model = build(seed=0, attention=attention)
    model.load_state_dict(load_file(file))
    return model
