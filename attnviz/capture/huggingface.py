"""Traces of transformers models, with the same weights as transformers' own attention."""

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
from attnviz.capture.inspection import AttentionLayer, inspect_layers
from attnviz.capture.model import Model, ModelInput, Outcomes, Prediction, Writing, variant_elements
from attnviz.capture.network import expects, vocabulary_rows
from attnviz.capture.recorder import records_vectors
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.errors import ModelNotSupported, TextTooLong, quoted
from attnviz.interventions.edit import Edit, Edits, by_place, validate_edits
from attnviz.models.catalogue import Entry
from attnviz.models.config import tokens_with_weights
from attnviz.models.tokenizer import TextTokenizer
from attnviz.trace import Block, Token, Trace

GREEDY = Writing(tokens=40)
"""The default generation settings of an encoder–decoder without a target."""

_MAX_CACHED = 32  # tokenized inputs; a trace and its predictions share the generated tokens
_SAMPLE = 11  # tokens in the sample input with which a model is inspected
_SAMPLE_TARGET = 7

_STARTS_WITH_END = {"mbart", "plbart"}
"""Families in which the decoder's input begins with the last token of the text."""


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
        network: a result of `open_network` that no other model uses.
        original: the caller's model object with the same weights, if any; its inspection is cached.

    Raises:
        ModelNotSupported: its attention cannot be recorded exactly.
    """

    def __init__(
        self,
        entry: Entry,
        network: PreTrainedModel,
        tokenizer: TextTokenizer,
        original: PreTrainedModel | None = None,
    ) -> None:
        self.name = entry.name
        self.dtype = entry.dtype
        self.device = str(network.device)
        self.entry = entry
        self.tokenizer = tokenizer
        self.network = network
        self._expects = expects(self.network)
        self._paired = bool(self.network.config.is_encoder_decoder)
        self.decoder_reads_text = False  # the decoder reads the same text, as in text classifiers
        self._has_segment_ids = "token_type_ids" in inspect.signature(self.network.forward).parameters
        self.layers = self._inspected(original)
        if self.layers:
            self.entry = entry.of_kind(self.layers[0].kind)
        forward.prepare(self.network, self.layers)
        vectors.install_bias_rules(network, records_vectors)
        self._vectors_checked = False
        self._max_tokens = (
            sys.maxsize
            if original is not None
            else tokens_with_weights(
                entry.heads * (entry.layers + (2 if entry.layers else 1) * entry.decoder_layers)
            )
        )
        self._inputs: dict[tuple[ModelInput, Edits], TokenizedInput] = {}
        self._lock = threading.Lock()  # never held during a forward pass

    def tokens(self, text: str | ModelInput) -> tuple[Token, ...]:
        """Return the input tokens of the model or its encoder; errors as for `TextTokenizer.tokenized`."""
        given = self._supported(text)
        if given.ids is not None:
            return self.tokenizer.tokens_of_ids(given.ids)[-1]
        return self.tokenizer.tokens(given.text, given.second)

    def trace(self, text: str | ModelInput, *, edits: Edits = (), selection: Selection = EVERYTHING) -> Trace:
        """Trace one forward pass over the text and the generated tokens; see `Model.trace`."""
        given = self._supported(text)
        tokenized = self._tokenized(given, edits, long=given.writing is None)
        if not self._stores_vectors(tokenized, edits, selection):
            self._refuse_long(tokenized)
        return self._trace(tokenized, self._blocks(tokenized, edits, selection), edits)

    def traces(self, texts: Sequence[ModelInput], selection: Selection = EVERYTHING) -> Iterator[Trace]:
        """Yield the traces, in batches except in encoder–decoders or to generate tokens; see `Model.traces`.

        They are also traced one by one if a text is too long to store its weights, or if only some texts have
        token types: passing token types for the other texts may change their results.
        """
        inputs = [self._tokenized(self._supported(text), long=text.writing is None) for text in texts]
        typed = [any(one.type_ids) and self._has_segment_ids for one in inputs]
        generates = self._paired or any(text.writing is not None for text in texts)
        if (
            generates
            or len(set(typed)) > 1
            or any(self._stores_vectors(one, (), selection) for one in inputs)
        ):
            yield from super().traces(texts, selection)
            return
        for one in inputs:
            self._refuse_long(one)
            selection.check(self._sizes(one))
        found = forward.batch_blocks(
            self.network,
            self.layers,
            [one.source for one in inputs],
            [one.type_ids for one in inputs] if any(typed) else None,
            selection,
        )
        for one, blocks in zip(inputs, found, strict=True):
            yield self._trace(one, blocks)

    def _trace(self, tokenized: TokenizedInput, blocks: tuple[Block, ...], edits: Edits = ()) -> Trace:
        return Trace(
            model=self.name,
            text=tokenized.text,
            second=tokenized.second,
            target=tokenized.target_text,
            written=tokenized.written,
            blocks=blocks,
            edits=tuple(str(edit) for edit in edits),
            notes=self.notes,
            without_weights=dict(self.entry.without_weights),
        )

    def predictions(self, text: str | ModelInput, *, edits: Edits = ()) -> tuple[Prediction, ...]:
        """Return the predictions at each position; see `Model.predictions`."""
        tokenized = self._tokenized(self._supported(text), edits)
        positions = self._positions(tokenized)
        if not positions:
            return ()
        arguments = self._arguments(tokenized)
        with forward.intervening(self.network, self.layers, [edits]):
            if self._expects == "next":
                return next_tokens(
                    self.network,
                    self.tokenizer,
                    arguments,
                    tokenized.writing,
                    tokenized.written,
                    tokenized.end,
                )
            return masked_tokens(self.network, self.tokenizer, arguments, positions)

    def outcomes(
        self, text: str | ModelInput, variants: Sequence[Edits], position: int | None = None
    ) -> Outcomes:
        """Return the outcome of each variant, with the tokens that the unedited model generates."""
        if self._expects is None:
            self.refuse_prediction(position)
        tokenized = self._tokenized(self._supported(text))
        for edits in variants:
            self._check_edits(edits, tokenized)
        arguments = self._arguments(tokenized)
        each = variant_elements(
            max(len(tokenized.source), len(tokenized.target)),
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

    def _inspected(self, original: PreTrainedModel | None) -> tuple[AttentionLayer, ...]:
        return inspect_layers(self.network, self._sample(), self.entry, original)

    def _blocks(self, tokenized: TokenizedInput, edits: Edits, selection: Selection) -> tuple[Block, ...]:
        selection.check(self._sizes(tokenized))
        vectors = self._stores_vectors(tokenized, edits, selection)
        if vectors and not self._vectors_checked:
            forward.check_vectors(self.network, self.layers, self._sample())
            self._vectors_checked = True
        inputs, texts = self._arguments(tokenized), (tokenized.source, tokenized.target)
        return forward.blocks(self.network, self.layers, inputs, *texts, edits, selection, vectors=vectors)

    def _sizes(self, tokenized: TokenizedInput) -> list[tuple[int, int, int]]:
        """Return each layer's index, number of heads and number of query tokens."""
        lengths = forward.sides(len(tokenized.source), len(tokenized.target or tokenized.source))
        return [(layer.layer, layer.heads, lengths[layer.kind][0]) for layer in self.layers]

    def _stores_vectors(self, tokenized: TokenizedInput, edits: Edits, selection: Selection) -> bool:
        """Return whether queries and keys are stored instead of weights.

        Raises:
            ModelNotSupported: vectors are requested together with edits.
        """
        if edits or selection.store == "weights":
            if selection.store == "vectors":
                raise ModelNotSupported(
                    'store="vectors" does not support edits, which change the weights. Use store="weights".'
                )
            return False
        sides = forward.sides(len(tokenized.source), len(tokenized.target or tokenized.source))
        layer_sizes = [math.prod((layer.heads, *sides[layer.kind])) for layer in self.layers]
        selected_size = sum(
            len(selection.heads or range(layer.heads)) * len(selection.queries or range(queries)) * keys
            for layer in self.layers
            for queries, keys in [sides[layer.kind]]
            if selection.keeps(layer.layer)
        )
        if (
            selection.store == "vectors"
            or max(len(tokenized.source), len(tokenized.target)) > self._max_tokens
        ):
            return True
        return 4 * max(selected_size, *layer_sizes) > selection.max_weight_bytes

    def _supported(self, text: str | ModelInput) -> ModelInput:
        writes = self._expects == "next"
        return self.supported(text, pairs=self.entry.pairs, targets=self._paired, writes=writes, ids=True)

    def _tokenized(self, given: ModelInput, edits: Edits = (), *, long: bool = False) -> TokenizedInput:
        """Return the tokenized input, from a cache of recent inputs, so that nothing is generated twice.

        Args:
            long: allow inputs that are too long for their weights to be stored.
        """
        key = given, tuple(edits)
        with self._lock:
            found = self._inputs.get(key)
        if found is None:
            found = self._tokenized_and_written(given, edits)
            self._check_edits(edits, found)
            # Replacement vectors may be large and are not cached.
            if all(isinstance(edit, Edit) for edit in edits):
                with self._lock:
                    self._inputs[key] = found
                    while len(self._inputs) > _MAX_CACHED:
                        del self._inputs[next(iter(self._inputs))]
        if not long:
            self._refuse_long(found)
        return found

    def _refuse_long(self, tokenized: TokenizedInput) -> None:
        if (length := max(len(tokenized.source), len(tokenized.target))) > self._max_tokens:
            raise TextTooLong(length, self._max_tokens)

    def _positions(self, tokenized: TokenizedInput) -> tuple[int, ...]:
        if self._expects == "next":
            return tuple(range(len(tokenized.target or tokenized.source)))
        if self._expects == "masked":
            mask = self.tokenizer.mask_id
            return tuple(position for position, token in enumerate(tokenized.source) if token.id == mask)
        return ()

    def _check_edits(self, edits: Edits, tokenized: TokenizedInput) -> None:
        by_place([edits], {(layer.kind, layer.layer): layer.heads for layer in self.layers})
        validate_edits(edits, len(tokenized.source), len(tokenized.target or tokenized.source))

    def _tokenized_and_written(self, given: ModelInput, edits: Edits) -> TokenizedInput:
        if given.ids is None:
            encoded = self.tokenizer.tokenized(given.text, given.second)
            tokenized = TokenizedInput(encoded.tokens, encoded.type_ids, given.text, given.second)
        else:
            text, tokens = self.tokenizer.tokens_of_ids(given.ids)
            tokenized = TokenizedInput(tokens, (0,) * len(tokens), text)
        self._check_rows(tokenized.source)
        if not self._paired:
            return tokenized if given.writing is None else self._written(tokenized, given.writing, edits)
        if given.target is None and self.decoder_reads_text:
            ends = self.network.config.model_type in _STARTS_WITH_END
            start = tokenized.source[-1] if ends else self._start()
            return replace(tokenized, target=(start, *tokenized.source[:-1]), target_text=tokenized.text)
        if given.target is None:
            tokenized = replace(tokenized, target=(self._start(),), target_text="")
            return self._written(tokenized, given.writing or GREEDY, edits)
        # The target, shifted by one, without its end token, which is never an input of the decoder.
        target = self.tokenizer.tokens(given.target, target=True)
        self._check_rows(target)
        end = target[-1].id if target[-1].special else None
        shifted = (self._start_of(target), *(target if end is None else target[:-1]))
        tokenized = replace(tokenized, target=shifted, target_text=given.target, end=end)
        return tokenized if given.writing is None else self._written(tokenized, given.writing, edits)

    def _check_rows(self, tokens: tuple[Token, ...]) -> None:
        """Raise if a token has no embedding, for example if the tokenizer was extended after training."""
        rows = vocabulary_rows(self.network)
        unknown = next((token for token in tokens if token.id >= rows), None)
        if unknown is not None:
            raise ModelNotSupported(
                f"Token {quoted(unknown.text)} has id {unknown.id}, but {quoted(self.name)} "
                f"has embeddings only for ids 0 to {rows - 1}. The tokenizer does not belong to this "
                "model."
            )

    def _written(self, tokenized: TokenizedInput, writing: Writing, edits: Edits) -> TokenizedInput:
        """Return the input with the tokens that the decoder generates, without the end token."""
        if self._expects != "next":
            raise ModelNotSupported(
                f"{quoted(self.name)} has no language-model head to generate with. Pass a text for its "
                "decoder: target=…."
            )
        before = tokenized.target or tokenized.source
        limit = self.entry.token_limit
        validate_edits(edits, len(tokenized.source) if self._paired else limit, limit, at_most=True)
        steps = generate(
            self.network,
            [token.id for token in before],
            writing,
            limit,
            [token.id for token in tokenized.source] if self._paired else None,
            partial(forward.intervening, self.network, self.layers, [edits]) if edits else None,
        )
        ends = generation_defaults(self.network).ends
        ids = [step.id for step in steps]
        end = ids.pop() if ids and ids[-1] in ends else None
        tokenized = replace(tokenized, writing=writing, written=len(ids), end=end)
        if self._paired:
            text, tokens = self.tokenizer.append_tokens(tokenized.target_text or "", before, ids)
            return replace(tokenized, target=tokens, target_text=text)
        text, tokens = self.tokenizer.append_tokens(tokenized.text, before, ids)
        return replace(tokenized, source=tokens, text=text, type_ids=(*tokenized.type_ids, *(0 for _ in ids)))

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
        """Return the token that the model itself puts before a target; for mBART, a language code."""
        shift = getattr(self.network, "prepare_decoder_input_ids_from_labels", None)
        if shift is None:
            return self._start()
        try:
            return self.tokenizer.special(int(shift(_ids(target).to(self.network.device))[0, 0]))
        except ValueError:  # its config has no such token
            return self._start()

    def _arguments(self, tokenized: TokenizedInput) -> Mapping[str, Tensor]:
        """Return the arguments of the forward pass."""
        inputs = {"input_ids": _ids(tokenized.source)}
        if self._has_segment_ids and any(tokenized.type_ids):
            inputs["token_type_ids"] = torch.tensor([tokenized.type_ids])
        if tokenized.target:
            inputs["decoder_input_ids"] = _ids(tokenized.target)
        return {name: numbers.to(self.network.device) for name, numbers in inputs.items()}

    def _sample(self) -> Mapping[str, Tensor]:
        """Return a sample input to check the model; the first ids, which are often special, are omitted."""
        last = self.network.config.vocab_size - 1
        rows = torch.linspace(last // 2, last, _SAMPLE, device=self.network.device).long()
        inputs = {"input_ids": rows[None]}
        if self._paired:
            inputs["decoder_input_ids"] = rows.flip(0)[None, :_SAMPLE_TARGET]
        return inputs


def _ids(tokens: tuple[Token, ...]) -> Tensor:
    return torch.tensor([[token.id for token in tokens]])
