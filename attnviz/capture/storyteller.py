"""Traces, predictions and generated text of the storyteller."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.capture.arrays import owned
from attnviz.capture.generation import GenerationDefaults, next_predictions, sample_tokens
from attnviz.capture.model import Model, ModelInput, Outcomes, Prediction, Writing, variant_elements
from attnviz.capture.scratch import output_projections, self_attention
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.interventions.edit import Edits, validate_edits
from attnviz.trace import Token, Trace
from attnviz.trained.storyteller import reading
from attnviz.trained.storyteller.grammar import CHANT, TOKEN_LIMIT, VOCABULARY
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.vocabulary import END, PAD, START
from attnviz.transformer.decoder_only import DecoderOnlySteps

_END = VOCABULARY.ids([END])[0]
_DEFAULTS = GenerationDefaults(ends=frozenset([_END]), forbidden=tuple(VOCABULARY.ids([PAD, START, CHANT])))


class _Input(NamedTuple):
    """The input of a forward pass after generation; `end` as in `next_predictions`."""

    text: str
    tokens: tuple[Token, ...]
    writing: Writing | None = None
    written: int = 0
    end: int | None = None

    @property
    def ids(self) -> list[int]:
        return [token.id for token in self.tokens]


class StorytellerModel(Model):
    """A trained storyteller, safe to share among threads.

    Raises:
        ModelFilesDamaged: the file is missing or damaged.
    """

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self.storyteller = Storyteller.load(file)
        self._projections = [*output_projections(self.storyteller.model).values()]

    def tokens(self, text: str | ModelInput) -> tuple[Token, ...]:
        """Return [START] and the words of a text; see `reading.tokens` for the errors."""
        return reading.tokens(self._supported(text).text)

    def trace(self, text: str | ModelInput, *, edits: Edits = (), selection: Selection = EVERYTHING) -> Trace:
        """Trace one forward pass over a text and the generated words; see `Model.trace`."""
        prepared = self._prepare_input(text, edits)
        steps = self.storyteller.steps(torch.tensor(prepared.ids), [edits] if edits else ())
        return Trace(
            model=self.name,
            text=prepared.text,
            written=prepared.written,
            blocks=selection.of(
                self_attention("decoder", steps.layers, prepared.tokens, self._projections), self.name
            ),
            edits=tuple(str(edit) for edit in edits),
        )

    def predictions(self, text: str | ModelInput, *, edits: Edits = ()) -> tuple[Prediction, ...]:
        """Return the predictions after each token; see `Model.predictions`."""
        prepared = self._prepare_input(text, edits)
        logits = self.storyteller.steps(torch.tensor(prepared.ids), [edits] if edits else ()).logits
        return next_predictions(
            logits, prepared.ids, VOCABULARY.word, _DEFAULTS, prepared.writing, prepared.written, prepared.end
        )

    def prediction_positions(self, text: str | ModelInput) -> tuple[int, ...]:
        """Return all positions: there is a prediction after each token."""
        return tuple(range(len(self._prepare_input(text).tokens)))

    def outcomes(
        self, text: str | ModelInput, variants: Sequence[Edits], position: int | None = None
    ) -> Outcomes:
        """Return the outcome of each variant, with the words that the unedited model generates."""
        prepared = self._prepare_input(text)
        for edits in variants:
            validate_edits(edits, len(prepared.tokens), len(prepared.tokens))
        ids = torch.tensor(prepared.ids)

        def run(batch: Sequence[Edits]) -> Outcomes:
            steps = self.storyteller.steps(ids.expand(len(batch), -1), batch)
            expected = None if position is None else owned(steps.logits[:, position].softmax(dim=-1))
            return Outcomes(owned(steps.output), None, expected)

        size = self.storyteller.size
        each = variant_elements(len(ids), size.n_heads, size.d_model, len(VOCABULARY))
        return Outcomes.of_batches(variants, each, run)

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return the words with these ids."""
        return tuple(map(VOCABULARY.word, ids))

    def _prepare_input(self, text: str | ModelInput, edits: Edits = ()) -> _Input:
        given = self._supported(text)
        prepared = _Input(given.text, reading.tokens(given.text))
        if given.writing is not None:
            validate_edits(edits, TOKEN_LIMIT, TOKEN_LIMIT, at_most=True)
            prepared = self._generate(prepared, given.writing, edits)
        validate_edits(edits, len(prepared.tokens), len(prepared.tokens))
        return prepared

    def _generate(self, prepared: _Input, writing: Writing, edits: Edits) -> _Input:
        """Return the input with the generated words, without the end token."""
        so_far: list[int] = []
        before: DecoderOnlySteps | None = None

        def scores(new_ids: Sequence[int]) -> Tensor:
            nonlocal before
            if edits:  # edits may affect any token, so nothing is cached
                so_far.extend(new_ids)
                return self.storyteller.steps(torch.tensor(so_far), [edits]).logits[-1]
            before = self.storyteller.model(torch.tensor(new_ids), before)
            return before.logits[-1]

        ids = [step.id for step in sample_tokens(scores, prepared.ids, writing, TOKEN_LIMIT, _DEFAULTS)]
        end = ids.pop() if ids and ids[-1] == _END else None
        text, tokens = reading.append_words(prepared.text, prepared.tokens, ids)
        return _Input(text, tokens, writing, len(ids), end)

    def _supported(self, text: str | ModelInput) -> ModelInput:
        return self.supported(text, writes=True)
