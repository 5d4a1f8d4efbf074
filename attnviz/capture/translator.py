"""Our translator as a source of traces: both texts, all three kinds of attention, edited or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from attnviz.capture.abilities import understood
from attnviz.capture.arrays import owned
from attnviz.capture.given import Given
from attnviz.capture.predictions import Prediction
from attnviz.capture.scratch import attend_like_ours
from attnviz.trace import Block, Floats, Kind, Mask, Token, Trace
from attnviz.transformer.masks import causal_mask, no_mask
from attnviz.transformer.multi_head import MultiHeadSteps
from attnviz.translation import reading
from attnviz.translation.editing import Edit, attention_at, edit_weights, places
from attnviz.translation.grammar import written
from attnviz.translation.translator import Translator
from attnviz.translation.vocabulary import FRENCH, START


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

    def predictions(self, given: str | Given) -> tuple[Prediction, ...]:
        """Nothing: what it expects is shown where it translates. The errors are those of `tokens`."""
        self.tokens(given)
        return ()

    def trace(self, given: str | Given, target: str | None = None, edits: Sequence[Edit] = ()) -> Trace:
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
            blocks.append(self._block("encoder", number, encoder_layer.attention, source, source, edits))
        for number, decoder_layer in enumerate(steps.decoder.layers):
            attention, cross = decoder_layer.attention, decoder_layer.cross_attention
            blocks.append(self._block("decoder", number, attention, following, following, edits))
            blocks.append(self._block("cross", number, cross, following, source, edits))
        return Trace(
            model=self.name,
            text=asked.text,
            target=target,
            blocks=tuple(blocks),
            edits=tuple(str(edit) for edit in edits),
        )

    def _understood(self, given: str | Given) -> Given:
        return understood(given, self.name, targets=True)

    def _block(
        self,
        kind: Kind,
        layer: int,
        steps: MultiHeadSteps,
        queries: tuple[Token, ...],
        keys: tuple[Token, ...],
        edits: Sequence[Edit],
    ) -> Block:
        here = tuple(edit for edit in edits if (edit.kind, edit.layer) == (kind, layer))
        mask = causal_mask(len(keys)) if kind == "decoder" else no_mask(len(queries), len(keys))
        return Block(
            kind=kind,
            layer=layer,
            query_tokens=queries,
            key_tokens=keys,
            query=owned(steps.query),
            key=owned(steps.key),
            value=owned(steps.value),
            mask=owned(mask),
            scale=steps.query.shape[-1] ** -0.5,
            projection=self._projections[kind, layer],
            attend=EditedAttend(here) if here else attend_like_ours,
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


@dataclass(frozen=True)
class EditedAttend:
    """(scores, weights) of a block whose weights were edited, by the functions that the model itself used.

    Attributes:
        edits: those of this block.
    """

    edits: tuple[Edit, ...]

    def __call__(
        self, query: Floats, key: Floats, mask: Mask, scale: float, bias: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """As `attnviz.trace.attend`; the scores are those before the edits.

        Raises:
            ValueError: a bias was given; our translator adds none.
        """
        scores, weights = attend_like_ours(query, key, mask, scale, bias)
        return scores, edit_weights(torch.from_numpy(weights), [self.edits]).numpy()
