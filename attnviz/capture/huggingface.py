"""A transformers model as a source of traces, its attention equal to transformers' own."""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel

from attnviz.capture import last_layer
from attnviz.capture.abilities import refuse_place, understood
from attnviz.capture.checks import checked
from attnviz.capture.forward import blocks
from attnviz.capture.given import Given, Writing
from attnviz.capture.intervening import intervening, prepare
from attnviz.capture.network import expects, open_network
from attnviz.capture.outcomes import Outcomes, in_parts, numbers
from attnviz.capture.predictions import Prediction, masked_tokens, next_tokens
from attnviz.capture.together import weights_together
from attnviz.capture.writing import habits_of, write
from attnviz.errors import ModelNotSupported, quoted
from attnviz.interventions.edit import Edits, by_place, refuse_misfits
from attnviz.models.catalogue import Entry
from attnviz.models.tokenizer import TextTokenizer
from attnviz.trace import Floats, Kind, Mask, Token, Trace

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
        tokenizer: its tokenizer.

    Raises:
        ModelNotSupported: its attention cannot be shown exactly.
        ModelFilesDamaged: a file is missing or damaged.
    """

    def __init__(self, entry: Entry, folder: Path, tokenizer: TextTokenizer) -> None:
        self.entry = entry
        self.tokenizer = tokenizer
        self.network: PreTrainedModel = open_network(folder, entry.name)
        self._expects = expects(self.network)
        self._paired = bool(self.network.config.is_encoder_decoder)
        self._tells_sentences = "token_type_ids" in inspect.signature(self.network.forward).parameters
        self._places = checked(self.network, self._sample(), entry)
        prepare(self.network, self._places)
        last_layer.listen(self.network)
        self._readings: OrderedDict[tuple[Given, Edits], Reading] = OrderedDict()
        self._shelf = threading.Lock()  # held for moments only

    def tokens(self, given: str | Given) -> tuple[Token, ...]:
        """What the model, or its encoder, is given to read; see `TextTokenizer.tokenized` for the errors."""
        given = self._understood(given)
        return self.tokenizer.tokens(given.text, given.second)

    def trace(self, given: str | Given, *, edits: Edits = ()) -> Trace:
        """One forward pass over the text, and over what the model has written.

        Args:
            given: what it reads; what it writes, it writes with the same edits.
            edits: changes to its attention. The trace shows the weights that it went on with.

        Raises:
            EmptyText, TextTooLong, UnreadableText: a text cannot be read as it is.
            ModelNotSupported: this model cannot do what is asked.
            InvalidEdit: the model or the text has no such place.
        """
        given = self._understood(given)
        read = self._read(given, edits)
        return Trace(
            model=self.entry.name,
            text=read.text,
            second=given.second,
            target=read.target_text,
            written=read.written,
            blocks=blocks(self.network, self._places, self._inputs(read), read.source, read.target, edits),
            edits=tuple(str(edit) for edit in edits),
        )

    def weights_together(
        self, sentences: Sequence[Sequence[Token]], kind: Kind
    ) -> tuple[tuple[Floats, ...], tuple[Mask, ...]]:
        """The weights of many sentences of equal length; see `together.weights_together`."""
        ids = [[token.id for token in sentence] for sentence in sentences]
        return weights_together(self.network, self._places, ids, kind)

    def predictions(self, given: str | Given, *, edits: Edits = ()) -> tuple[Prediction, ...]:
        """What the model expects, place by place; nothing if it has no head that tells.

        Arguments and errors are those of `trace`.
        """
        read = self._read(self._understood(given), edits)
        if not self._asked_at(read):
            return ()
        inputs = self._inputs(read)
        with intervening(self.network, self._places, [edits]):
            if self._expects == "next":
                return next_tokens(self.network, self.tokenizer, inputs, read.writing, read.written, read.end)
            return masked_tokens(self.network, self.tokenizer, inputs)

    def outcomes(self, given: str | Given, variants: Sequence[Edits], place: int | None = None) -> Outcomes:
        """What comes out for each variant; what the unchanged model writes, all of them read.

        Args:
            given: what it reads.
            variants: the edits of each.
            place: the token at which it is asked what it expects, from 0; None: it is not asked.

        The errors are those of `trace`.
        """
        if self._expects is None:
            refuse_place(self.entry.name, place)
        read = self._read(self._understood(given))
        for edits in variants:
            self._refuse_misfits(edits, read)
        inputs = self._inputs(read)
        config = self.network.config
        each = numbers(
            max(len(read.source), len(read.target)),
            self.entry.heads,
            self.entry.d_model,
            config.vocab_size if self._expects else 0,
        )
        return in_parts(
            variants,
            each,
            lambda some: last_layer.outcomes(self.network, self._places, inputs, some, place),
        )

    def asked_at(self, given: str | Given) -> tuple[int, ...]:
        """The tokens, from 0, at which it can be asked what it expects; the errors are those of `trace`."""
        return self._asked_at(self._read(self._understood(given)))

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """What the tokens of these numbers are, as a person reads them."""
        return tuple(self.tokenizer.readable(number) for number in ids)

    def _understood(self, given: str | Given) -> Given:
        return understood(
            given,
            self.entry.name,
            pairs=self.entry.pairs,
            targets=self._paired,
            writes=self._expects == "next",
        )

    def _read(self, given: Given, edits: Edits = ()) -> Reading:
        """The reading, kept for a while: nothing is written twice."""
        key = given, tuple(edits)
        with self._shelf:
            found = self._readings.get(key)
        if found is None:
            found = self._read_and_write(given, edits)
            self._refuse_misfits(edits, found)
            with self._shelf:
                self._readings[key] = found
                while len(self._readings) > _REMEMBERED:
                    self._readings.popitem(last=False)
        return found

    def _asked_at(self, read: Reading) -> tuple[int, ...]:
        if self._expects == "next":
            return tuple(range(len(read.target or read.source)))
        if self._expects == "masked" and self.tokenizer.mask is not None:
            mask = self.tokenizer.id_of(self.tokenizer.mask)
            return tuple(place for place, token in enumerate(read.source) if token.id == mask)
        return ()

    def _refuse_misfits(self, edits: Edits, read: Reading) -> None:
        by_place([edits], {(place.kind, place.layer): place.heads for place in self._places})
        refuse_misfits(edits, len(read.source), len(read.target or read.source))

    def _read_and_write(self, given: Given, edits: Edits) -> Reading:
        encoded = self.tokenizer.tokenized(given.text, given.second)
        self._check_rows(encoded.tokens)
        read = Reading(encoded.tokens, encoded.type_ids, given.text)
        if not self._paired:
            return read if given.writing is None else self._written(read, given.writing, edits)
        if given.target is None:
            read = replace(read, target=(self._start(),), target_text="")
            return self._written(read, given.writing or LIKELIEST, edits)
        # What it is taught to write, moved by one: it never reads the end.
        taught = self.tokenizer.target(given.target)
        self._check_rows(taught)
        end = taught[-1].id if taught[-1].special else None
        shifted = (self._start(), *(taught if end is None else taught[:-1]))
        read = replace(read, target=shifted, target_text=given.target, end=end)
        return read if given.writing is None else self._written(read, given.writing, edits)

    def _check_rows(self, tokens: tuple[Token, ...]) -> None:
        """Some tokenizers have got tokens after their model had learned its own."""
        rows = len(self.network.get_input_embeddings().get_parameter("weight"))
        unknown = next((token.text for token in tokens if token.id >= rows), None)
        if unknown is not None:
            raise ModelNotSupported(
                f"The tokenizer of {quoted(self.entry.name)} has a token {quoted(unknown)}, but the model "
                "has no vector for it. The two do not belong together."
            )

    def _written(self, read: Reading, writing: Writing, edits: Edits) -> Reading:
        """The reading after the decoder has written on; the token that ended its text is not read."""
        if self._expects != "next":
            raise ModelNotSupported(
                f"{quoted(self.entry.name)} was saved without the part that writes. Give its decoder a "
                "text to read (a target)."
            )
        before = read.target or read.source
        limit = self.entry.token_limit
        refuse_misfits(edits, len(read.source) if self._paired else limit, limit)
        steps = write(
            self.network,
            [token.id for token in before],
            writing,
            limit,
            [token.id for token in read.source] if self._paired else None,
            partial(intervening, self.network, self._places, [edits]) if edits else None,
        )
        ends = habits_of(self.network).ends
        ids = [step.id for step in steps]
        end = ids.pop() if ids and ids[-1] in ends else None
        read = replace(read, writing=writing, written=len(ids), end=end)
        if self._paired:
            text, tokens = self.tokenizer.written(read.target_text or "", before, ids)
            return replace(read, target=tokens, target_text=text)
        text, tokens = self.tokenizer.written(read.text, before, ids)
        return replace(read, source=tokens, text=text, type_ids=(*read.type_ids, *(0 for _ in ids)))

    def _start(self) -> Token:
        """The token with which every text of the decoder begins."""
        configs = (getattr(self.network, "generation_config", None), self.network.config)
        for name in ("decoder_start_token_id", "bos_token_id"):
            for config in configs:
                number = getattr(config, name, None)
                if isinstance(number, int):
                    return self.tokenizer.special(number)
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
