"""Our own Transformer as a source of traces: every number is one of the steps that it returns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from attnviz.capture.abilities import understood
from attnviz.capture.arrays import owned
from attnviz.capture.given import Given
from attnviz.capture.predictions import Prediction
from attnviz.capture.text import Reader
from attnviz.trace import Block, Floats, Mask, Token, Trace
from attnviz.transformer.attention import attention_weights
from attnviz.transformer.bert import Bert
from attnviz.transformer.multi_head import MultiHeadAttention


class ScratchModel:
    """A BERT of attnviz's own making with published weights; safe to share among threads."""

    def __init__(self, name: str, folder: Path, reader: Reader) -> None:
        self.name = name
        self._reader = reader
        self.bert = Bert.from_folder(folder)
        # Made once: every trace of this model shares them.
        self._projections = [
            owned(module.output_projections().detach())
            for module in self.bert.encoder.modules()
            if isinstance(module, MultiHeadAttention)
        ]

    def tokens(self, given: str | Given) -> tuple[Token, ...]:
        """The text's tokens; see `Reader.encoded` for the errors."""
        return self._reader.tokens(understood(given, self.name).text)

    def trace(self, given: str | Given) -> Trace:
        """One forward pass over the text.

        Raises:
            EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
            ModelNotSupported: more than reading one text is asked.
        """
        given = understood(given, self.name)
        tokens = self.tokens(given)
        with torch.inference_mode():
            steps = self.bert(torch.tensor([token.id for token in tokens]))
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
                    mask=everywhere,
                    scale=layer.attention.query.shape[-1] ** -0.5,
                    projection=projection,
                    attend=attend_like_ours,
                )
                for number, (layer, projection) in enumerate(
                    zip(steps.layers, self._projections, strict=True)
                )
            ),
        )

    def predictions(self, given: str | Given) -> tuple[Prediction, ...]:
        """Nothing: it has no head that expects tokens. The errors are those of `trace`."""
        self.tokens(given)
        return ()


def attend_like_ours(
    query: Floats, key: Floats, mask: Mask, scale: float, bias: Floats | None = None
) -> tuple[Floats, Floats]:
    """(scores, weights) of one block by the function that the model itself used.

    Raises:
        ValueError: a bias was given; our BERT adds none.
    """
    if bias is not None:
        raise ValueError("Our BERT adds no bias to its scores.")
    allowed = None if mask.all() else torch.tensor(mask)
    steps = attention_weights(torch.tensor(query), torch.tensor(key), allowed, scale)
    return steps.scores.numpy(), steps.weights.numpy()
