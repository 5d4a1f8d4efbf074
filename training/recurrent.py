"""A recurrent encoder–decoder with a memory of fixed size, with and without attention."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.transformer.attention import scaled_dot_product_attention

D_EMBEDDING = 64
D_HIDDEN = 128
FORGET_BIAS = 1.0
"""Initial bias of the forget gate f; with 1, less of the memory is forgotten (Jozefowicz et al. 2015)."""


class RecurrentSteps(NamedTuple):
    """The encoder's output after each source word, and the logits of the next target word."""

    outputs: Float[Tensor, "sentence source d_hidden"]
    logits: Float[Tensor, "sentence target vocabulary"]


class RecurrentAttention(nn.Module):
    """Attention of a recurrent decoder to a recurrent encoder's outputs (Bahdanau et al. 2015).

    As in Luong et al. 2015, the query is W_q h, keys and values are the outputs (equation 8, "general"), and
    tanh(W [h; attention output]) replaces h (equation 5).
    """

    def __init__(self) -> None:
        super().__init__()
        self.to_query = nn.Linear(D_HIDDEN, D_HIDDEN, bias=False)
        self.combine = nn.Linear(2 * D_HIDDEN, D_HIDDEN)

    def forward(
        self,
        hidden_states: Float[Tensor, "sentence target d_hidden"],
        outputs: Float[Tensor, "sentence source d_hidden"],
    ) -> Float[Tensor, "sentence target d_hidden"]:
        """Return the vectors that replace the decoder's hidden states."""
        # Not divided by √d_hidden: as −1 < h < 1, all initial scores would then be near 0.
        steps = scaled_dot_product_attention(self.to_query(hidden_states), outputs, outputs, scale=1.0)
        mixed: Tensor = self.combine(torch.cat((hidden_states, steps.output), dim=-1)).tanh()
        return mixed


class RecurrentEncoderDecoder(nn.Module):
    """Two LSTMs: an encoder, and a decoder that starts from the encoder's state (Sutskever et al. 2014).

    At each word x, an LSTM updates its memory c and its output h (Hochreiter & Schmidhuber 1997; Gers et al.
    2000) with gates i, f and o between 0 and 1. The gates and g are computed from x and the previous h:

        c = f ⊙ c + i ⊙ tanh(g)        h = o ⊙ tanh(c)

    Each LSTM has one layer, not four as in Sutskever et al., and the source is not reversed. The output
    matrix is the target's embedding table, as in the transformer.

    Args:
        attention: Let the decoder attend to the encoder's outputs, with `RecurrentAttention`.
    """

    def __init__(self, *, attention: bool) -> None:
        super().__init__()
        self.source_table = nn.Embedding(len(ENGLISH), D_EMBEDDING)
        self.target_table = nn.Embedding(len(FRENCH), D_EMBEDDING)
        for table in (self.source_table, self.target_table):  # as in the transformer
            nn.init.normal_(table.weight, std=D_EMBEDDING**-0.5)
        self.encoder = nn.LSTM(D_EMBEDDING, D_HIDDEN, batch_first=True)
        self.decoder = nn.LSTM(D_EMBEDDING, D_HIDDEN, batch_first=True)
        for lstm in (self.encoder, self.decoder):
            # torch has two biases that are added, each with the gates in the order i, f, g, o.
            for bias, number in (("bias_ih_l0", FORGET_BIAS), ("bias_hh_l0", 0.0)):
                nn.init.constant_(lstm.get_parameter(bias)[D_HIDDEN : 2 * D_HIDDEN], number)
        self.attention = RecurrentAttention() if attention else None
        self.to_word = nn.Linear(D_HIDDEN, D_EMBEDDING)

    def forward(
        self, source_ids: Int[Tensor, "sentence source"], target_ids: Int[Tensor, "sentence target"]
    ) -> RecurrentSteps:
        """Run one pass over source texts of equal length, and the target texts so far."""
        outputs, memory = self.encoder(self.source_table(source_ids))
        hidden_states, _ = self.decoder(self.target_table(target_ids), memory)
        attended = hidden_states if self.attention is None else self.attention(hidden_states, outputs)
        return RecurrentSteps(outputs, self.to_word(attended) @ self.target_table.weight.T)
