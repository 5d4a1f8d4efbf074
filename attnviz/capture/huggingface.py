"""A transformers model as a source of traces with the same weights as transformers' own attention."""

from __future__ import annotations

import inspect
import math
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor
from transformers import PreTrainedModel

from attnviz.capture import forward, vectors
from attnviz.capture.generation import generate, generation_defaults, masked_tokens, next_tokens
from attnviz.capture.inspection import AttentionLayer, inspected
from attnviz.capture.model import (
    Model,
    ModelInput,
    Outcomes,
    Prediction,
    Writing,
    numbers_of_variant,
)
from attnviz.capture.network import expects, vocabulary_rows
from attnviz.capture.recorder import records_vectors
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.errors import ModelNotSupported, TextTooLong, quoted
from attnviz.interventions.edit import Edit, Edits, by_place, validate_edits
from attnviz.models.catalogue import Entry
from attnviz.models.config import tokens_with_weights
from attnviz.models.tokenizer import TextTokenizer
from attnviz.trace import Block, Token, Trace

LIKELIEST = Writing(tokens=40)
"""The generation settings of an encoder–decoder without a target."""

_CACHED = 32  # inputs kept with their generated tokens: a trace and its predictions share them
_SAMPLE = 11  # tokens in the sample with which a model is checked
_SAMPLE_OF_A_DECODER = 7

_STARTS_WITH_END = {"mbart", "plbart"}
"""Families whose decoder begins with the last token of the text."""


@dataclass(frozen=True, slots=True)
class TokenizedInput:
    """The tokens of one forward pass, including those that the model generated before it.

    Attributes:
        source: the tokens of the encoder, or of the only stack.
        type_ids: the segment of each source token, 0 or 1.
        text: the text of the source tokens.
        second: the second sentence of a pair, or None.
        target: the decoder's tokens in an encoder–decoder, else empty.
        target_text: the text of the target tokens.
        writing: the settings with which the last tokens were generated.
        written: the number of generated tokens at the end.
        end: the token that ended the text, typed or generated; it is not part of the input.
    """

    source: tuple[Token, ...]
    type_ids: tuple[int, ...]
    text: str
    second: str | None = None
    target: tuple[Token, ...] = ()
    target_text: str | None = None
    writing: Writing | None = None
    written: int = 0
    end: int | None = None


class HuggingFaceModel(Model):
    """A loaded text model, safe to share among threads.

    Args:
        network: as `open_network` returns it; not shared.
        owned_by: the caller's object of which `network` is a second module tree; it is inspected once.

    Raises:
        ModelNotSupported: its attention cannot be recorded exactly.
    """

    def __init__(
        self,
        entry: Entry,
        network: PreTrainedModel,
        tokenizer: TextTokenizer,
        owned_by: PreTrainedModel | None = None,
    ) -> None:
        self.name = entry.name
        self.dtype = entry.dtype
        self.device = str(network.device)
        self.entry = entry
        self.tokenizer = tokenizer
        self.network = network
        self._expects = expects(self.network)
        self._paired = bool(self.network.config.is_encoder_decoder)
        self.decoder_reads_text = False  # without a target, one token later, as in a classifier of texts
        self._has_segment_ids = "token_type_ids" in inspect.signature(self.network.forward).parameters
        self.layers = self._inspected(owned_by)
        if self.layers:
            self.entry = entry.of_kind(self.layers[0].kind)
        forward.prepare(self.network, self.layers)
        vectors.give_rules(network, records_vectors)
        self._vectors_checked = False
        self._max_tokens = (
            sys.maxsize
            if owned_by is not None
            else tokens_with_weights(
                entry.heads * (entry.layers + (2 if entry.layers else 1) * entry.decoder_layers)
            )
        )
        self._inputs: dict[tuple[ModelInput, Edits], TokenizedInput] = {}
        self._lock = threading.Lock()  # never held during a forward pass

    def tokens(self, text: str | ModelInput) -> tuple[Token, ...]:
        """Return the input tokens of the model, or of its encoder; errors as `TextTokenizer.tokenized`."""
        given = self._supported(text)
        if given.ids is not None:
            return self.tokenizer.of_ids(given.ids)[-1]
        return self.tokenizer.tokens(given.text, given.second)

    def trace(self, text: str | ModelInput, *, edits: Edits = (), selection: Selection = EVERYTHING) -> Trace:
        """Trace one forward pass over the text and the generated tokens; see `Model.trace`."""
        given = self._supported(text)
        read = self._tokenized(given, edits, long=given.writing is None)
        if not self._takes_vectors(read, edits, selection):
            self._refuse_long(read)
        return self._trace(read, self._blocks(read, edits, selection), edits)

    def traces(self, texts: Sequence[ModelInput], selection: Selection = EVERYTHING) -> Iterator[Trace]:
        """Yield the traces; see `Model.traces`. Texts are batched unless tokens are generated.

        Texts are also traced one by one if only some have token types, since passing token types for the
        others may change the result, and if one is too long for its weights to be stored.
        """
        read = [self._tokenized(self._supported(text), long=text.writing is None) for text in texts]
        typed = [any(one.type_ids) and self._has_segment_ids for one in read]
        writes = self._paired or any(text.writing is not None for text in texts)
        if writes or len(set(typed)) > 1 or any(self._takes_vectors(one, (), selection) for one in read):
            yield from super().traces(texts, selection)
            return
        for one in read:
            self._refuse_long(one)
            selection.check(self._sizes(one))
        found = forward.batch_blocks(
            self.network,
            self.layers,
            [one.source for one in read],
            [one.type_ids for one in read] if any(typed) else None,
            selection,
        )
        for one, blocks in zip(read, found, strict=True):
            yield self._trace(one, blocks)

    def _trace(self, read: TokenizedInput, blocks: tuple[Block, ...], edits: Edits = ()) -> Trace:
        return Trace(
            model=self.name,
            text=read.text,
            second=read.second,
            target=read.target_text,
            written=read.written,
            blocks=blocks,
            edits=tuple(str(edit) for edit in edits),
            notes=self.notes,
            without_weights=dict(self.entry.without_weights),
        )

    def predictions(self, text: str | ModelInput, *, edits: Edits = ()) -> tuple[Prediction, ...]:
        """Return the predictions at each position; see `Model.predictions`."""
        read = self._tokenized(self._supported(text), edits)
        positions = self._positions(read)
        if not positions:
            return ()
        arguments = self._arguments(read)
        with forward.intervening(self.network, self.layers, [edits]):
            if self._expects == "next":
                return next_tokens(
                    self.network, self.tokenizer, arguments, read.writing, read.written, read.end
                )
            return masked_tokens(self.network, self.tokenizer, arguments, positions)

    def outcomes(
        self, text: str | ModelInput, variants: Sequence[Edits], position: int | None = None
    ) -> Outcomes:
        """Return the outcome of each variant, all with the tokens that the unchanged model generates."""
        if self._expects is None:
            self.refuse_prediction(position)
        read = self._tokenized(self._supported(text))
        for edits in variants:
            self._refuse_misfits(edits, read)
        arguments = self._arguments(read)
        each = numbers_of_variant(
            max(len(read.source), len(read.target)),
            self.entry.heads,
            self.entry.d_model,
            self.network.config.vocab_size if self._expects else 0,
        )
        return Outcomes.of_batches(
            variants,
            each,
            lambda some: forward.outcomes(self.network, self.layers, arguments, some, position),
        )

    def prediction_positions(self, text: str | ModelInput) -> tuple[int, ...]:
        """Return the token positions, from 0, with a prediction; see `Model.prediction_positions`."""
        return self._positions(self._tokenized(self._supported(text)))

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return the readable texts of token ids."""
        return tuple(self.tokenizer.readable(number) for number in ids)

    def _inspected(self, owned_by: PreTrainedModel | None) -> tuple[AttentionLayer, ...]:
        return inspected(self.network, self._sample(), self.entry, owned_by)

    def _blocks(self, read: TokenizedInput, edits: Edits, selection: Selection) -> tuple[Block, ...]:
        selection.check(self._sizes(read))
        vectors = self._takes_vectors(read, edits, selection)
        if vectors and not self._vectors_checked:
            forward.check_vectors(self.network, self.layers, self._sample())
            self._vectors_checked = True
        inputs, texts = self._arguments(read), (read.source, read.target)
        return forward.blocks(self.network, self.layers, inputs, *texts, edits, selection, vectors=vectors)

    def _sizes(self, read: TokenizedInput) -> list[tuple[int, int, int]]:
        """Return each layer's number, number of heads and number of query tokens."""
        lengths = forward.sides(len(read.source), len(read.target or read.source))
        return [(layer.layer, layer.heads, lengths[layer.kind][0]) for layer in self.layers]

    def _takes_vectors(self, read: TokenizedInput, edits: Edits, selection: Selection) -> bool:
        """Return whether queries and keys are stored in place of weights.

        Raises:
            ModelNotSupported: vectors are requested together with edits.
        """
        if edits or selection.store == "weights":
            if selection.store == "vectors":
                raise ModelNotSupported(
                    'store="vectors" does not support edits, which change the weights. Use store="weights".'
                )
            return False
        sides = forward.sides(len(read.source), len(read.target or read.source))
        of_one_layer = [math.prod((layer.heads, *sides[layer.kind])) for layer in self.layers]
        kept = sum(
            len(selection.heads or range(layer.heads)) * len(selection.queries or range(queries)) * keys
            for layer in self.layers
            for queries, keys in [sides[layer.kind]]
            if selection.keeps(layer.layer)
        )
        if selection.store == "vectors" or max(len(read.source), len(read.target)) > self._max_tokens:
            return True
        return 4 * max(kept, *of_one_layer) > selection.max_weight_bytes

    def _supported(self, text: str | ModelInput) -> ModelInput:
        writes = self._expects == "next"
        return self.supported(text, pairs=self.entry.pairs, targets=self._paired, writes=writes, ids=True)

    def _tokenized(self, given: ModelInput, edits: Edits = (), *, long: bool = False) -> TokenizedInput:
        """Return the input, from a cache of recent ones, so that nothing is generated twice.

        Args:
            long: allow inputs that are too long for their weights to be stored.
        """
        key = given, tuple(edits)
        with self._lock:
            found = self._inputs.get(key)
        if found is None:
            found = self._tokenized_and_written(given, edits)
            self._refuse_misfits(edits, found)
            if all(isinstance(edit, Edit) for edit in edits):  # replacement vectors may be large: not cached
                with self._lock:
                    self._inputs[key] = found
                    while len(self._inputs) > _CACHED:
                        del self._inputs[next(iter(self._inputs))]
        if not long:
            self._refuse_long(found)
        return found

    def _refuse_long(self, read: TokenizedInput) -> None:
        if (length := max(len(read.source), len(read.target))) > self._max_tokens:
            raise TextTooLong(length, self._max_tokens)

    def _positions(self, read: TokenizedInput) -> tuple[int, ...]:
        if self._expects == "next":
            return tuple(range(len(read.target or read.source)))
        if self._expects == "masked":
            mask = self.tokenizer.mask_id
            return tuple(position for position, token in enumerate(read.source) if token.id == mask)
        return ()

    def _refuse_misfits(self, edits: Edits, read: TokenizedInput) -> None:
        by_place([edits], {(layer.kind, layer.layer): layer.heads for layer in self.layers})
        validate_edits(edits, len(read.source), len(read.target or read.source))

    def _tokenized_and_written(self, given: ModelInput, edits: Edits) -> TokenizedInput:
        if given.ids is None:
            encoded = self.tokenizer.tokenized(given.text, given.second)
            read = TokenizedInput(encoded.tokens, encoded.type_ids, given.text, given.second)
        else:
            text, tokens = self.tokenizer.of_ids(given.ids)
            read = TokenizedInput(tokens, (0,) * len(tokens), text)
        self._check_rows(read.source)
        if not self._paired:
            return read if given.writing is None else self._written(read, given.writing, edits)
        if given.target is None and self.decoder_reads_text:
            ends = self.network.config.model_type in _STARTS_WITH_END
            start = read.source[-1] if ends else self._start()
            return replace(read, target=(start, *read.source[:-1]), target_text=read.text)
        if given.target is None:
            read = replace(read, target=(self._start(),), target_text="")
            return self._written(read, given.writing or LIKELIEST, edits)
        # The target without its end token, shifted by one: the decoder never reads the end token.
        target = self.tokenizer.tokens(given.target, target=True)
        self._check_rows(target)
        end = target[-1].id if target[-1].special else None
        shifted = (self._start_of(target), *(target if end is None else target[:-1]))
        read = replace(read, target=shifted, target_text=given.target, end=end)
        return read if given.writing is None else self._written(read, given.writing, edits)

    def _check_rows(self, tokens: tuple[Token, ...]) -> None:
        """Raise if a token has no embedding: some tokenizers were extended after their model was trained."""
        rows = vocabulary_rows(self.network)
        unknown = next((token for token in tokens if token.id >= rows), None)
        if unknown is not None:
            raise ModelNotSupported(
                f"Token {quoted(unknown.text)} has id {unknown.id}, but {quoted(self.name)} "
                f"has embeddings only for ids 0 to {rows - 1}. The tokenizer does not belong to this "
                "model."
            )

    def _written(self, read: TokenizedInput, writing: Writing, edits: Edits) -> TokenizedInput:
        """Return the input with the tokens that the decoder generates, without the one that ends the text."""
        if self._expects != "next":
            raise ModelNotSupported(
                f"{quoted(self.name)} has no language-model head to generate with. Give its decoder a "
                "text to read (a target)."
            )
        before = read.target or read.source
        limit = self.entry.token_limit
        validate_edits(edits, len(read.source) if self._paired else limit, limit, at_most=True)
        steps = generate(
            self.network,
            [token.id for token in before],
            writing,
            limit,
            [token.id for token in read.source] if self._paired else None,
            partial(forward.intervening, self.network, self.layers, [edits]) if edits else None,
        )
        ends = generation_defaults(self.network).ends
        ids = [step.id for step in steps]
        end = ids.pop() if ids and ids[-1] in ends else None
        read = replace(read, writing=writing, written=len(ids), end=end)
        if self._paired:
            text, tokens = self.tokenizer.written(read.target_text or "", before, ids)
            return replace(read, target=tokens, target_text=text)
        text, tokens = self.tokenizer.written(read.text, before, ids)
        return replace(read, source=tokens, text=text, type_ids=(*read.type_ids, *(0 for _ in ids)))

    def _start(self) -> Token:
        """Return the token with which the decoder starts."""
        configs = (getattr(self.network, "generation_config", None), self.network.config)
        for name in ("decoder_start_token_id", "bos_token_id"):
            for config in configs:
                number = getattr(config, name, None)
                if isinstance(number, int):
                    return self.tokenizer.special(number)
        raise ModelNotSupported(
            f"The config of {quoted(self.name)} has no decoder_start_token_id or "
            "bos_token_id, so its decoder has no start token."
        )

    def _start_of(self, target: tuple[Token, ...]) -> Token:
        """Return the token that the model itself puts before a target; for mBART, the language's code."""
        shift = getattr(self.network, "prepare_decoder_input_ids_from_labels", None)
        if shift is None:
            return self._start()
        try:
            return self.tokenizer.special(int(shift(_ids(target).to(self.network.device))[0, 0]))
        except ValueError:  # its config has no such token
            return self._start()

    def _arguments(self, read: TokenizedInput) -> Mapping[str, Tensor]:
        """Return the arguments of the forward pass."""
        inputs = {"input_ids": _ids(read.source)}
        if self._has_segment_ids and any(read.type_ids):
            inputs["token_type_ids"] = torch.tensor([read.type_ids])
        if read.target:
            inputs["decoder_input_ids"] = _ids(read.target)
        return {name: numbers.to(self.network.device) for name, numbers in inputs.items()}

    def _sample(self) -> Mapping[str, Tensor]:
        """Return a sample input for the check at load, without the first ids: padding and other specials."""
        last = self.network.config.vocab_size - 1
        rows = torch.linspace(last // 2, last, _SAMPLE, device=self.network.device).long()
        inputs = {"input_ids": rows[None]}
        if self._paired:
            inputs["decoder_input_ids"] = rows.flip(0)[None, :_SAMPLE_OF_A_DECODER]
        return inputs


def _ids(tokens: tuple[Token, ...]) -> Tensor:
    return torch.tensor([[token.id for token in tokens]])
