"""Traces of attnviz's own transformer, from the intermediate steps that it returns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from attnviz.capture.arrays import owned
from attnviz.capture.model import Model, ModelInput, Outcomes, variant_elements
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.interventions.edit import Edits, validate_edits
from attnviz.interventions.editing import OurModel, attention_at, edited, places
from attnviz.models.tokenizer import TextTokenizer
from attnviz.trace import Block, Floats, Kind, Token, Trace
from attnviz.transformer.bert import Bert
from attnviz.transformer.decoder_only import PreNormLayerSteps
from attnviz.transformer.layers import EncoderLayerSteps
from attnviz.transformer.masks import causal_mask, no_mask
from attnviz.transformer.multi_head import MultiHeadSteps


class ScratchModel(Model):
    """attnviz's own BERT with published weights; safe to share among threads."""

    def __init__(self, name: str, folder: Path, tokenizer: TextTokenizer) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.bert = Bert.from_folder(folder)
        self._projections = [*output_projections(self.bert).values()]

    def tokens(self, text: str | ModelInput) -> tuple[Token, ...]:
        """Return the text's tokens; see `TextTokenizer.tokenized` for the errors."""
        return self.tokenizer.tokens(self.supported(text).text)

    def trace(self, text: str | ModelInput, *, edits: Edits = (), selection: Selection = EVERYTHING) -> Trace:
        """Run one forward pass over the text; see `Model.trace`."""
        given = self.supported(text)
        tokens = self.tokens(given)
        validate_edits(edits, len(tokens), len(tokens))
        bert = edited(self.bert, [edits]) if edits else self.bert
        with torch.inference_mode():
            steps = bert(torch.tensor([token.id for token in tokens]))
        return Trace(
            model=self.name,
            text=given.text,
            blocks=selection.of(
                self_attention("encoder", steps.layers, tokens, self._projections), self.name
            ),
            edits=tuple(str(edit) for edit in edits),
        )

    def outcomes(
        self, text: str | ModelInput, variants: Sequence[Edits], position: int | None = None
    ) -> Outcomes:
        """Return the outputs of each variant, without predictions; see `Model.outcomes`."""
        self.refuse_prediction(position)
        tokens = self.tokens(text)
        for edits in variants:
            validate_edits(edits, len(tokens), len(tokens))
        ids = torch.tensor([token.id for token in tokens])

        def run(batch: Sequence[Edits]) -> Outcomes:
            with torch.inference_mode():
                embedded = self.bert.embeddings(ids, torch.zeros_like(ids)).output
                states = edited(self.bert, batch).encoder(embedded.expand(len(batch), -1, -1)).output
            return Outcomes(owned(states))

        heads, _, d_model = self._projections[0].shape
        return Outcomes.of_batches(variants, variant_elements(len(tokens), heads, d_model), run)

    def words(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return the readable tokens with these ids."""
        return tuple(self.tokenizer.readable(number) for number in ids)


def output_projections(network: OurModel) -> dict[tuple[Kind, int], Floats]:
    """Return each layer's W_O by kind and layer, one slice per head; all traces of a model share them."""
    return {
        place: owned(attention_at(network, path).output_projections().detach())
        for place, path in places(network).items()
    }


def self_attention(
    kind: Kind,
    layers: Sequence[EncoderLayerSteps | PreNormLayerSteps],
    tokens: tuple[Token, ...],
    projections: Sequence[Floats],
) -> tuple[Block, ...]:
    """Return the blocks of all layers of a stack."""
    return tuple(
        block_of_steps(kind, number, layer.attention, tokens, tokens, projection)
        for number, (layer, projection) in enumerate(zip(layers, projections, strict=True))
    )


def block_of_steps(
    kind: Kind,
    layer: int,
    steps: MultiHeadSteps,
    queries: tuple[Token, ...],
    keys: tuple[Token, ...],
    projection: Floats,
) -> Block:
    """Return the block of one attention module.

    Args:
        projection: W_O, one slice per head, [head, d_head, d_model].
    """
    mask = causal_mask(len(keys)) if kind == "decoder" else no_mask(len(queries), len(keys))
    return Block(
        kind=kind,
        layer=layer,
        query_tokens=queries,
        key_tokens=keys,
        query=steps.query,
        key=steps.key,
        value=steps.value,
        weights=steps.attention.weights,
        mask=mask,
        scale=steps.query.shape[-1] ** -0.5,
        projection=projection,
    )
