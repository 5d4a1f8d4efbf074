"""A transformers model as a source of traces, its attention equal to transformers' own."""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel

from attnviz.capture.abilities import understood
from attnviz.capture.catalogue import Entry
from attnviz.capture.checks import checked
from attnviz.capture.forward import blocks
from attnviz.capture.given import Given, Writing
from attnviz.capture.network import expects, open_network
from attnviz.capture.predictions import Prediction, masked_tokens, next_tokens
from attnviz.capture.text import Reader
from attnviz.capture.writing import habits_of, write
from attnviz.errors import ModelNotSupported, quoted
from attnviz.trace import Token, Trace

LIKELIEST = Writing(tokens=40)
"""How an encoder–decoder writes when it is given no target."""

_REMEMBERED = 32  # readings whose written tokens are kept: a trace and its predictions speak of the same ones
_SAMPLE = 11  # tokens that a model is checked with
_SAMPLE_OF_A_DECODER = 7


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model reads in one forward pass, after it has written what it was to write.

    Attributes:
        source: the tokens of the encoder, or of the only stack.
        type_ids: which sentence each of them belongs to.
        text: what they stand in.
        target: the decoder's tokens in an encoder–decoder, else none.
        target_text: what those stand in.
        writing: how the last tokens were written.
        written: how many of the last tokens the model wrote.
        end: the token that ended the text, typed or written; nobody reads it.
    """

    source: tuple[Token, ...]
    type_ids: tuple[int, ...]
    text: str
    target: tuple[Token, ...] = ()
    target_text: str | None = None
    writing: Writing | None = None
    written: int = 0
    end: int | None = None


class HuggingFaceModel:
    """A loaded model that reads texts; safe to share among threads.

    Args:
        entry: what is known of it.
        folder: where its files lie.
        reader: its tokenizer.

    Raises:
        ModelNotSupported: its attention cannot be shown exactly.
        ModelFilesDamaged: a file is missing or damaged.
    """

    def __init__(self, entry: Entry, folder: Path, reader: Reader) -> None:
        self.entry = entry
        self.reader = reader
        self.network: PreTrainedModel = open_network(folder, entry.name)
        self._expects = expects(self.network)
        self._paired = bool(self.network.config.is_encoder_decoder)
        self._tells_sentences = "token_type_ids" in inspect.signature(self.network.forward).parameters
        self._places = checked(self.network, self._sample(), entry)
        self._readings: OrderedDict[Given, Reading] = OrderedDict()
        self._shelf = threading.Lock()  # held for moments only

    def tokens(self, given: str | Given) -> tuple[Token, ...]:
        """What the model, or its encoder, is given to read; see `Reader.encoded` for the errors."""
        given = self._understood(given)
        return self.reader.tokens(given.text, given.second)

    def trace(self, given: str | Given) -> Trace:
        """One forward pass over the text, and over what the model has written.

        Raises:
            EmptyText, TextTooLong, UnreadableText: a text cannot be read as it is.
            ModelNotSupported: this model cannot do what is asked.
        """
        given = self._understood(given)
        read = self._read(given)
        return Trace(
            model=self.entry.name,
            text=read.text,
            second=given.second,
            target=read.target_text,
            written=read.written,
            blocks=blocks(self.network, self._places, self._inputs(read), read.source, read.target),
        )

    def predictions(self, given: str | Given) -> tuple[Prediction, ...]:
        """What the model expects, place by place; nothing if it has no head that tells.

        The errors are those of `trace`.
        """
        read = self._read(self._understood(given))
        inputs = self._inputs(read)
        if self._expects == "next":
            return next_tokens(self.network, self.reader, inputs, read.writing, read.written, read.end)
        if self._expects == "masked":
            return masked_tokens(self.network, self.reader, inputs)
        return ()

    def _understood(self, given: str | Given) -> Given:
        return understood(
            given,
            self.entry.name,
            pairs=self.entry.pairs,
            targets=self._paired,
            writes=self._expects == "next",
        )

    def _read(self, given: Given) -> Reading:
        """The reading, kept for a while: nothing is written twice."""
        with self._shelf:
            found = self._readings.get(given)
        if found is None:
            found = self._read_and_write(given)
            with self._shelf:
                self._readings[given] = found
                while len(self._readings) > _REMEMBERED:
                    self._readings.popitem(last=False)
        return found

    def _read_and_write(self, given: Given) -> Reading:
        encoded = self.reader.encoded(given.text, given.second)
        self._check_rows(encoded.tokens)
        read = Reading(encoded.tokens, encoded.type_ids, given.text)
        if not self._paired:
            return read if given.writing is None else self._written(read, given.writing)
        if given.target is None:
            read = replace(read, target=(self._start(),), target_text="")
            return self._written(read, given.writing or LIKELIEST)
        # What it is taught to write, moved by one: it never reads the end.
        taught = self.reader.target(given.target)
        self._check_rows(taught)
        end = taught[-1].id if taught[-1].special else None
        shifted = (self._start(), *(taught if end is None else taught[:-1]))
        read = replace(read, target=shifted, target_text=given.target, end=end)
        return read if given.writing is None else self._written(read, given.writing)

    def _check_rows(self, tokens: tuple[Token, ...]) -> None:
        """Some tokenizers have got tokens after their model had learned its own."""
        rows = len(self.network.get_input_embeddings().get_parameter("weight"))
        unknown = next((token.text for token in tokens if token.id >= rows), None)
        if unknown is not None:
            raise ModelNotSupported(
                f"The tokenizer of {quoted(self.entry.name)} has a token {quoted(unknown)}, but the model "
                "has no vector for it. The two do not belong together."
            )

    def _written(self, read: Reading, writing: Writing) -> Reading:
        """The reading after the decoder has written on; the token that ended its text is not read."""
        if self._expects != "next":
            raise ModelNotSupported(
                f"{quoted(self.entry.name)} was saved without the part that writes. Give its decoder a "
                "text to read (a target)."
            )
        before = read.target or read.source
        steps = write(
            self.network,
            [token.id for token in before],
            writing,
            self.entry.token_limit,
            [token.id for token in read.source] if self._paired else None,
        )
        ends = habits_of(self.network).ends
        ids = [step.id for step in steps]
        end = ids.pop() if ids and ids[-1] in ends else None
        read = replace(read, writing=writing, written=len(ids), end=end)
        if self._paired:
            text, tokens = self.reader.written(read.target_text or "", before, ids)
            return replace(read, target=tokens, target_text=text)
        text, tokens = self.reader.written(read.text, before, ids)
        return replace(read, source=tokens, text=text, type_ids=(*read.type_ids, *(0 for _ in ids)))

    def _start(self) -> Token:
        """The token with which every text of the decoder begins."""
        configs = (getattr(self.network, "generation_config", None), self.network.config)
        for name in ("decoder_start_token_id", "bos_token_id"):
            for config in configs:
                number = getattr(config, name, None)
                if isinstance(number, int):
                    return self.reader.special(number)
        raise ModelNotSupported(
            f"{quoted(self.entry.name)} does not say with which token its decoder begins "
            "(decoder_start_token_id in its config)."
        )

    def _inputs(self, read: Reading) -> Mapping[str, Tensor]:
        inputs = {"input_ids": _ids(read.source)}
        if self._tells_sentences and any(read.type_ids):
            inputs["token_type_ids"] = torch.tensor([read.type_ids])
        if read.target:
            inputs["decoder_input_ids"] = _ids(read.target)
        return inputs

    def _sample(self) -> Mapping[str, Tensor]:
        """Tokens for the check at load: not the first rows, which mean padding and the like."""
        last = self.network.config.vocab_size - 1
        rows = torch.linspace(last // 2, last, _SAMPLE).long()
        inputs = {"input_ids": rows[None]}
        if self._paired:
            inputs["decoder_input_ids"] = rows.flip(0)[None, :_SAMPLE_OF_A_DECODER]
        return inputs


def _ids(tokens: tuple[Token, ...]) -> Tensor:
    return torch.tensor([[token.id for token in tokens]])
