"""A translator without attention: it reads a sentence into one memory of fixed size, and writes from that."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator.translator import longest_translation, padded, source_of, target_of, until_end
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH, PAD, START

Words = Sequence[str]

D_EMBEDDING = 64
D_HIDDEN = 128


class Memory(NamedTuple):
    """All that a recurrent network keeps of what it has read: two vectors, however long the text was."""

    hidden: Float[Tensor, "sentence d_hidden"]
    cell: Float[Tensor, "sentence d_hidden"]


class RecurrentSteps(NamedTuple):
    """From two texts to the scores of the next word (logits).

    Attributes:
        words: the source words' vectors.
        memory: what is left of them after the last one: nothing else reaches the decoder.
        hidden_states: the decoder's, after each target word.
        logits: the scores of every word as the next one.
    """

    words: Float[Tensor, "sentence source d_embedding"]
    memory: Memory
    hidden_states: Float[Tensor, "sentence target d_hidden"]
    logits: Float[Tensor, "sentence target vocabulary"]

    @property
    def probabilities(self) -> Float[Tensor, "sentence target vocabulary"]:
        """For each target word, how probable each word is as the next one."""
        return self.logits.softmax(dim=-1)


class RecurrentEncoderDecoder(nn.Module):
    """Two LSTMs: one reads word by word, the other begins with its memory and writes (Sutskever et al. 2014).

    At each word x an LSTM renews its memory c and its output h (Hochreiter & Schmidhuber 1997; Gers et al.
    2000), by gates i, f and o between 0 and 1, which are computed from x and the former h, as is g:

        c = f ⊙ c + i ⊙ tanh(g)        h = o ⊙ tanh(c)

    One layer each, where the paper has four; and the source is read forwards, where the paper reverses it.
    The last matrix is the target's embedding table again, as in the transformer.

    Args:
        source_vocabulary, target_vocabulary: how many different words each text has.
        d_embedding: the size of a word's vector.
        d_hidden: the size of c, and of h.
        dropout: the share of the vectors that is left out at random in training.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        d_embedding: int = D_EMBEDDING,
        d_hidden: int = D_HIDDEN,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_table = nn.Embedding(source_vocabulary, d_embedding)
        self.target_table = nn.Embedding(target_vocabulary, d_embedding)
        for table in (self.source_table, self.target_table):  # as in the transformer
            nn.init.normal_(table.weight, std=d_embedding**-0.5)
        self.encoder = nn.LSTM(d_embedding, d_hidden, batch_first=True)
        self.decoder = nn.LSTM(d_embedding, d_hidden, batch_first=True)
        self.to_word = nn.Linear(d_hidden, d_embedding)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        source_ids: Int[Tensor, "sentence source"],
        target_ids: Int[Tensor, "sentence target"],
        real: Bool[Tensor, "sentence source"] | None = None,
    ) -> RecurrentSteps:
        """One pass over both texts.

        Args:
            source_ids: the text to read.
            target_ids: the text so far, from its start token on.
            real: False where a source token only fills up a shorter sentence, at its end; None: nowhere.
        """
        words = self.dropout(self.source_table(source_ids))
        memory = self.read(words, real)
        logits, hidden_states, _ = self.write(target_ids, memory)
        return RecurrentSteps(words, memory, hidden_states, logits)

    def read(
        self,
        words: Float[Tensor, "sentence source d_embedding"],
        real: Bool[Tensor, "sentence source"] | None = None,
    ) -> Memory:
        """The encoder's memory after the last word of each sentence."""
        if real is None:
            _, (hidden, cell) = self.encoder(words)
        else:
            packed = pack_padded_sequence(words, real.sum(dim=1), batch_first=True, enforce_sorted=False)
            _, (hidden, cell) = self.encoder(packed)
        return Memory(hidden[0], cell[0])

    def write(
        self, target_ids: Int[Tensor, "sentence target"], memory: Memory
    ) -> tuple[
        Float[Tensor, "sentence target vocabulary"], Float[Tensor, "sentence target d_hidden"], Memory
    ]:
        """Logits and hidden states after each target word, and the memory after the last."""
        words = self.dropout(self.target_table(target_ids))
        hidden_states, (hidden, cell) = self.decoder(words, (memory.hidden[None], memory.cell[None]))
        logits = self.to_word(self.dropout(hidden_states)) @ self.target_table.weight.T
        return logits, hidden_states, Memory(hidden[0], cell[0])


def build(seed: int, dropout: float = 0.0) -> RecurrentEncoderDecoder:
    """A network that has learned nothing yet, between the two vocabularies.

    Args:
        seed: chooses its first random weights; torch's own random numbers go on as if nothing had happened.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RecurrentEncoderDecoder(len(ENGLISH), len(FRENCH), dropout=dropout)


class RecurrentTranslator:
    """A trained network without attention; safe to share among threads.

    Args:
        model: is copied, so that it may be trained further.
    """

    def __init__(self, model: RecurrentEncoderDecoder) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(False)

    def steps(self, source_words: Words, target_words: Words) -> RecurrentSteps:
        """One pass over a sentence and its translation, with a batch axis of 1.

        Args:
            source_words: English, without [END].
            target_words: French, without [START] and [END].
        """
        with torch.inference_mode():
            steps: RecurrentSteps = self.model(
                torch.tensor([source_of(source_words)]), torch.tensor([target_of(target_words)])
            )
        return steps

    def translate(self, source_words: Words) -> tuple[str, ...]:
        """Word by word, each time the most probable one (greedy decoding).

        Args:
            source_words: English, without [END].

        Returns:
            French words without [END], broken off after `longest_translation`.
        """
        (words,) = self.translate_all([source_words])
        return words

    def translate_all(self, sources: Sequence[Words]) -> list[tuple[str, ...]]:
        """`translate` for many sentences at once."""
        source_ids = padded([source_of(words) for words in sources])
        pad, start = FRENCH.ids([PAD, START])
        limits = [longest_translation(words) for words in sources]
        with torch.inference_mode():
            memory = self.model.read(self.model.source_table(source_ids), source_ids != pad)
            word = torch.full((len(sources), 1), start)
            written = []
            for _ in range(max(limits)):
                logits, _, memory = self.model.write(word, memory)
                logits[..., [pad, start]] = float("-inf")  # these are never a next word
                word = logits.argmax(dim=-1)
                written.append(word)
        rows = torch.cat(written, dim=1).tolist()
        return [until_end([*map(FRENCH.word, row[:limit])]) for row, limit in zip(rows, limits, strict=True)]

    def save(self, file: Path) -> None:
        """Write the numbers in float16."""
        save_file({name: tensor.half() for name, tensor in self.model.state_dict().items()}, file)

    @classmethod
    def load(cls, file: Path) -> RecurrentTranslator:
        """A model from its file, in float32.

        Raises:
            ModelFilesDamaged: the file is missing, damaged, or was made for another vocabulary.
        """
        model = build(seed=0)
        try:
            model.load_state_dict(load_file(file))
        except (OSError, SafetensorError, RuntimeError) as error:
            raise ModelFilesDamaged(f"The model file {file} is missing or damaged.") from error
        return cls(model)
