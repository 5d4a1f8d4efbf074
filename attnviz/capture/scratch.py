"""Our own Transformer as a source of traces: every number is one of the steps that it returns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from attnviz.capture.abilities import refuse_place, understood
from attnviz.capture.arrays import owned
from attnviz.capture.given import Given
from attnviz.capture.outcomes import Outcomes, in_parts, numbers
from attnviz.capture.predictions import Prediction
from attnviz.interventions.edit import Edits, refuse_misfits
from attnviz.interventions.editing import attention_at, edited, places
from attnviz.models.tokenizer import TextTokenizer
from attnviz.trace import Block, Token, Trace
from attnviz.transformer.bert import Bert


class ScratchModel:
    """A BERT of attnviz's own making with published weights; safe to share among threads."""

    def __init__(self, name: str, folder: Path, tokenizer: TextTokenizer) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.bert = Bert.from_folder(folder)
        # Made once: every trace of this model shares them.
        self._projections = [
            owned(attention_at(self.bert, path).output_projections().detach())
            for path in places(self.bert).values()
        ]

    def tokens(self, given: str | Given) -> tuple[Token, ...]:
        """The text's tokens; see `TextTokenizer.tokenized` for the errors."""
        return self.tokenizer.tokens(understood(given, self.name).text)

    def trace(self, given: str | Given, *, edits: Edits = ()) -> Trace:
        """One forward pass over the text.

        Args:
            given: what it reads.
            edits: changes to its attention. The trace shows the weights that it went on with.

        Raises:
            EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
            ModelNotSupported: more than reading one text is asked.
            InvalidEdit: the model or the text has no such place.
        """
        given = understood(given, self.name)
        tokens = self.tokens(given)
        refuse_misfits(edits, len(tokens), len(tokens))
        bert = edited(self.bert, [edits]) if edits else self.bert
        with torch.inference_mode():
            steps = bert(torch.tensor([token.id for token in tokens]))
        everywhere = np.ones((len(tokens), len(tokens)), dtype=np.bool_)
        everywhere.setflags(write=False)
        return Trace(
            model=self.name,
            text=given.text,
            blocks=tuple(
                Block(
                    kind="encoder",
                    layer=number,
                    query_tokens=tokens,
                    key_tokens=tokens,
                    query=owned(layer.attention.query),
                    key=owned(layer.attention.key),
                    value=owned(layer.attention.value),
                    weights=owned(layer.attention.attention.weights),
                    mask=everywhere,
                    scale=layer.attention.query.shape[-1] ** -0.5,
                    projection=projection,
                )
                for number, (layer, projection) in enumerate(
                    zip(steps.layers, self._projections, strict=True)
                )
            ),
            edits=tuple(str(edit) for edit in edits),
        )

    def predictions(self, given: str | Given, *, edits: Edits = ()) -> tuple[Prediction, ...]:
        """Nothing: it has no head that expects tokens. The errors are those of `trace`."""
        tokens = self.tokens(given)
        refuse_misfits(edits, len(tokens), len(tokens))
        edited(self.bert, [edits])
        return ()

    def outcomes(self, given: str | Given, variants: Sequence[Edits], place: int | None = None) -> Outcomes:
        """What comes out for each variant: the edits of each.

        Raises:
            ModelNotSupported: a place is asked for, but it expects nothing anywhere.
            EmptyText, TextTooLong, UnreadableText, InvalidEdit: as `trace` does.
        """
        refuse_place(self.name, place)
        tokens = self.tokens(given)
        for edits in variants:
            refuse_misfits(edits, len(tokens), len(tokens))
        ids = torch.tensor([token.id for token in tokens])

        def run(some: Sequence[Edits]) -> Outcomes:
            with torch.inference_mode():
                read = self.bert.embeddings(ids, torch.zeros_like(ids)).output
                states = edited(self.bert, some).encoder(read.expand(len(some), -1, -1)).output
            return Outcomes(owned(states))

        heads, _, d_model = self._projections[0].shape
        return in_parts(variants, numbers(len(tokens), heads, d_model), run)

    def asked_at(self, given: str | Given) -> tuple[int, ...]:
        """Nowhere: it expects nothing. The errors are those of `trace`."""
        self.tokens(given)
        return ()

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """What the tokens of these numbers are, as a person reads them."""
        return tuple(self.tokenizer.readable(number) for number in ids)
