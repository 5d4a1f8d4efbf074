"""Our translator as a source of traces: both texts, all three kinds of attention, edited or not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attnviz.capture.abilities import understood
from attnviz.capture.arrays import owned
from attnviz.capture.given import Given
from attnviz.capture.outcomes import Outcomes, in_parts, numbers
from attnviz.capture.predictions import Prediction
from attnviz.interventions.edit import Edits
from attnviz.interventions.editing import attention_at, places
from attnviz.trace import Block, Floats, Kind, Token, Trace
from attnviz.trained.translator import reading
from attnviz.trained.translator.grammar import written
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.vocabulary import FRENCH, START
from attnviz.transformer.masks import causal_mask, no_mask
from attnviz.transformer.multi_head import MultiHeadSteps


class TranslatorModel:
    """A trained translator; safe to share among threads.

    Args:
        name: the catalogue's.
        file: its weights.

    Raises:
        ModelFilesDamaged: the file is missing or damaged.
    """

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self.translator = Translator.load(file)
        # Made once: every trace of this model shares them.
        self._projections: dict[tuple[Kind, int], Floats] = {
            place: owned(attention_at(self.translator.model, path).output_projections())
            for place, path in places(self.translator.model).items()
        }

    def tokens(self, given: str | Given) -> tuple[Token, ...]:
        """What the encoder reads of a text, [END] included; see `reading.tokens` for the errors."""
        return reading.tokens(self._understood(given).text)

    def predictions(self, given: str | Given, *, edits: Edits = ()) -> tuple[Prediction, ...]:
        """Nothing: what it expects is shown where it translates. The errors are those of `trace`."""
        if edits:
            self.trace(given, edits=edits)
        self.tokens(given)
        return ()

    def outcomes(self, given: str | Given, variants: Sequence[Edits], place: int | None = None) -> Outcomes:
        """What comes out for each variant; the French of the unchanged model, all of them read.

        Args:
            given: English, and French if it is given.
            variants: the edits of each.
            place: the French word, from 0 ([START]), after which it is asked what follows; None: it is not.

        The errors are those of `trace`.
        """
        source, following = self._read(given)

        def run(some: Sequence[Edits]) -> Outcomes:
            copies = len(some)
            steps = self.translator.steps_all([source] * copies, [following] * copies, some)
            return Outcomes(
                owned(steps.decoder.output),
                owned(steps.encoder.output),
                None if place is None else owned(steps.probabilities[:, place]),
            )

        sizes = self.translator.sizes
        tokens = max(len(source), len(following)) + 1
        return in_parts(variants, numbers(tokens, sizes.n_heads, sizes.d_model, len(FRENCH)), run)

    def asked_at(self, given: str | Given) -> tuple[int, ...]:
        """The French words, from 0 ([START]), after which it can be asked what follows: all."""
        _, following = self._read(given)
        return tuple(range(len(following) + 1))

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The French words of these numbers."""
        return tuple(FRENCH.word(number) for number in ids)

    def trace(self, given: str | Given, target: str | None = None, edits: Edits = ()) -> Trace:
        """One forward pass over an English sentence and its French translation.

        Args:
            given: English, and French if it is given.
            target: French, if `given` has none; None: what the model itself translates, with the same edits.
            edits: changes to its attention. The trace shows the changed weights: those that it went on with.

        Raises:
            EmptyText, TextTooLong, UnreadableText, UnknownWords: a text cannot be read as it is.
            InvalidEdit: the model or the sentences have no such place.
            ModelNotSupported: it is to read a pair of English sentences, or to write otherwise than it does.
        """
        asked = self._understood(given)
        target = target if asked.target is None else asked.target
        source = self.tokens(asked)
        if target is None:
            french = self.translator.translate(words(source), edits)
            target = written(french)
            following = spelled(french, target)
        else:
            following = reading.french(target)
        steps = self.translator.steps(words(source), words(following), edits)

        blocks: list[Block] = []
        for number, encoder_layer in enumerate(steps.encoder.layers):
            blocks.append(self._block("encoder", number, encoder_layer.attention, source, source))
        for number, decoder_layer in enumerate(steps.decoder.layers):
            attention, cross = decoder_layer.attention, decoder_layer.cross_attention
            blocks.append(self._block("decoder", number, attention, following, following))
            blocks.append(self._block("cross", number, cross, following, source))
        return Trace(
            model=self.name,
            text=asked.text,
            target=target,
            blocks=tuple(blocks),
            edits=tuple(str(edit) for edit in edits),
        )

    def _read(self, given: str | Given) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The English words and the French ones, without [START] and [END]."""
        asked = self._understood(given)
        source = words(self.tokens(asked))
        if asked.target is None:
            return source, self.translator.translate(source)
        return source, words(reading.french(asked.target))

    def _understood(self, given: str | Given) -> Given:
        return understood(given, self.name, targets=True)

    def _block(
        self,
        kind: Kind,
        layer: int,
        steps: MultiHeadSteps,
        queries: tuple[Token, ...],
        keys: tuple[Token, ...],
    ) -> Block:
        mask = causal_mask(len(keys)) if kind == "decoder" else no_mask(len(queries), len(keys))
        return Block(
            kind=kind,
            layer=layer,
            query_tokens=queries,
            key_tokens=keys,
            query=owned(steps.query),
            key=owned(steps.key),
            value=owned(steps.value),
            weights=owned(steps.attention.weights),
            mask=owned(mask),
            scale=steps.query.shape[-1] ** -0.5,
            projection=self._projections[kind, layer],
        )


def words(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The words among the tokens: without [START] and [END]."""
    return tuple(token.text for token in tokens if not token.special)


def spelled(french: Sequence[str], text: str) -> tuple[Token, ...]:
    """[START] and the words of a translation, where they stand in `written(french)`.

    Any words will do: a model that is edited, or that learned little, may say nothing at all, or very much.
    """
    places: list[tuple[int, int]] = []
    end = 0
    for word in french:
        start = text.lower().index(word, end)
        end = start + len(word)
        places.append((start, end))
    start_id, *ids = FRENCH.ids([START, *french])
    return (
        Token(START, start_id, 0, 0, None, special=True),
        *(
            Token(word, number, *place, word=order, special=False)
            for order, (word, number, place) in enumerate(zip(french, ids, places, strict=True))
        ),
    )
