"""Traces of the translator: both texts and all three kinds of attention, with or without edits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attnviz.capture.arrays import owned
from attnviz.capture.model import Model, ModelInput, Outcomes, variant_elements
from attnviz.capture.scratch import block_of_steps, output_projections
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.interventions.edit import Edits
from attnviz.trace import Block, Kind, Token, Trace
from attnviz.trained.translator import reading
from attnviz.trained.translator.grammar import format_sentence
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import START
from attnviz.transformer.multi_head import MultiHeadSteps


class TranslatorModel(Model):
    """A trained translator, safe to share among threads.

    Raises:
        ModelFilesDamaged: the file is missing or damaged.
    """

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self.translator = Translator.load(file)
        self._projections = output_projections(self.translator.model)

    def tokens(self, text: str | ModelInput) -> tuple[Token, ...]:
        """Return the encoder's tokens of a text, including [END]; see `reading.tokens` for the errors."""
        return reading.tokens(self._supported(text).text)

    def outcomes(
        self, text: str | ModelInput, variants: Sequence[Edits], position: int | None = None
    ) -> Outcomes:
        """Return the outcome of each variant for the given French words, by default the unedited model's."""
        source, following = self._texts(text)

        def run(batch: Sequence[Edits]) -> Outcomes:
            copies = len(batch)
            steps = self.translator.steps_all([source] * copies, [following] * copies, batch)
            return Outcomes(
                owned(steps.decoder.output),
                owned(steps.encoder.output),
                None if position is None else owned(steps.probabilities[:, position]),
            )

        sizes = self.translator.sizes
        tokens = max(len(source), len(following)) + 1
        each = variant_elements(tokens, sizes.n_heads, sizes.d_model, len(FRENCH))
        return Outcomes.of_batches(variants, each, run)

    def prediction_positions(self, text: str | ModelInput) -> tuple[int, ...]:
        """Return the positions of [START] and all French words, from 0: there is a prediction after each."""
        _, following = self._texts(text)
        return tuple(range(len(following) + 1))

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return the French words with these ids."""
        return tuple(FRENCH.word(number) for number in ids)

    def trace(self, text: str | ModelInput, *, edits: Edits = (), selection: Selection = EVERYTHING) -> Trace:
        """Trace one pass over an English sentence and a given or generated translation; see `Model.trace`."""
        given = self._supported(text)
        source, target = self.tokens(given), given.target
        if target is None:
            french = self.translator.translate(words(source), edits)
            target = format_sentence(french)
            following = spelled(french, target)
        else:
            following = reading.french(target)
        steps = self.translator.steps(words(source), words(following), edits)

        blocks: list[Block] = []

        def add(kind: Kind, layer: int, steps: MultiHeadSteps) -> None:
            queries = source if kind == "encoder" else following
            keys = following if kind == "decoder" else source
            blocks.append(block_of_steps(kind, layer, steps, queries, keys, self._projections[kind, layer]))

        for number, encoder_layer in enumerate(steps.encoder.layers):
            add("encoder", number, encoder_layer.attention)
        for number, decoder_layer in enumerate(steps.decoder.layers):
            add("decoder", number, decoder_layer.attention)
            add("cross", number, decoder_layer.cross_attention)
        return Trace(
            model=self.name,
            text=given.text,
            target=target,
            blocks=selection.of(blocks, self.name),
            edits=tuple(str(edit) for edit in edits),
        )

    def _texts(self, text: str | ModelInput) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the English and the French words, without [START] and [END]."""
        given = self._supported(text)
        source = words(self.tokens(given))
        if given.target is None:
            return source, self.translator.translate(source)
        return source, words(reading.french(given.target))

    def _supported(self, text: str | ModelInput) -> ModelInput:
        return self.supported(text, targets=True)


def words(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the words among the tokens, without [START] and [END]."""
    return tuple(token.text for token in tokens if not token.special)


def spelled(french: Sequence[str], text: str) -> tuple[Token, ...]:
    """Return [START] and the words of a translation as tokens, with their spans in the text.

    Accepts any words: an edited or barely trained model may generate an empty or a very long text.
    """
    spans: list[tuple[int, int]] = []
    end = 0
    for word in french:
        start = text.lower().index(word, end)
        end = start + len(word)
        spans.append((start, end))
    start_id, *ids = FRENCH.ids([START, *french])
    return (
        Token(START, start_id, 0, 0, None, special=True),
        *(
            Token(word, number, *span, word=order, special=False)
            for order, (word, number, span) in enumerate(zip(french, ids, spans, strict=True))
        ),
    )
