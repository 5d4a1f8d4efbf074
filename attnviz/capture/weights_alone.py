"""Traces with weights only, for models with queries, keys and values that cannot be recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from attnviz.capture import forward
from attnviz.capture.arrays import owned
from attnviz.capture.huggingface import HuggingFaceModel, TokenizedInput
from attnviz.capture.inspection import AttentionLayer, returned_weights, run, weights_of
from attnviz.capture.local_attention import (
    NOTE,
    REPEATED,
    SUMMARIES,
    choose_attention_by_length,
    full_weights,
    mask,
)
from attnviz.capture.model import Model, ModelInput
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.errors import AttentionNotRead, ModelNotSupported
from attnviz.interventions.edit import Edits
from attnviz.models.catalogue import Entry
from attnviz.models.families import LOCAL
from attnviz.models.tokenizer import TextTokenizer
from attnviz.trace import (
    ROUNDING,
    UNKNOWN,
    Block,
    Floats,
    Kind,
    Mask,
    Trace,
    changed,
    mask_of_weights,
    weights_block,
)


def load_or_fall_back(
    entry: Entry,
    network: Callable[[bool], PreTrainedModel],
    tokenizer: TextTokenizer,
    original: PreTrainedModel | None = None,
) -> HuggingFaceModel:
    """Load a model; if its attention cannot be recorded, load it for its attention weights only.

    Args:
        network: Function that loads the network; with True, one that returns attention weights.
        original: The caller's model object, which shares its parameters with the network.

    Raises:
        ModelNotSupported: not even its weights can be shown.
    """
    try:
        return HuggingFaceModel(entry, network(False), tokenizer, original)
    except AttentionNotRead as error:
        return WeightsModel(entry, network(True), tokenizer, str(error))


class WeightsModel(HuggingFaceModel):
    """A model with attention weights only, without recording or interventions.

    Args:
        entry, network, tokenizer: as for `HuggingFaceModel`; the network has `eager` attention.
        reason: The reason why only its weights are available, as one sentence.

    Raises:
        ModelNotSupported: transformers does not return its weights.
    """

    def __init__(self, entry: Entry, network: PreTrainedModel, tokenizer: TextTokenizer, reason: str) -> None:
        self.weights_alone = (
            f"{reason} Only the attention weights that transformers returns are shown, without queries, "
            "keys, values, scores or masks."
        )
        self._reason = reason
        if entry.family in LOCAL and entry.family != "big_bird":
            summarizes = getattr(network.config, "encoder_attention_type", "") == "transient-global"
            self.notes = (NOTE, SUMMARIES) if summarizes else (NOTE,)
        # In transformers, BigBird permanently switches to full attention at its first short input.
        if getattr(network.config, "attention_type", "") == "block_sparse" and entry.layers:
            self.notes = (NOTE, REPEATED)
            choose_attention_by_length(network)
        super().__init__(entry, network, tokenizer)

    def traces(self, texts: Sequence[ModelInput], selection: Selection = EVERYTHING) -> Iterator[Trace]:
        """Trace one text at a time; see `Model.traces`."""
        return Model.traces(self, texts, selection)

    def _check_edits(self, edits: Edits, tokenized: TokenizedInput) -> None:  # noqa: ARG002
        if edits:
            raise ModelNotSupported(f"{self.weights_alone} Interventions are not supported.")

    def _stores_vectors(self, tokenized: TokenizedInput, edits: Edits, selection: Selection) -> bool:  # noqa: ARG002
        return False

    def _inspected(self, original: PreTrainedModel | None) -> tuple[AttentionLayer, ...]:  # noqa: ARG002
        sample = self._sample()
        lengths = [ids.shape[1] for ids in sample.values()]
        with torch.inference_mode():
            returned = run(self.network, sample, with_weights=True)
        if not (self._paired or self.entry.family in LOCAL):
            later = (layer.triu(1).any() for layer in weights_of(returned, "encoder") if layer is not None)
            self.entry = self.entry.of_kind("encoder" if any(later) else "decoder")
        for kind in self.entry.kinds:
            shape = (1, self.entry.heads, *forward.sides(lengths[0], lengths[-1])[kind])
            layers = self._weights(kind, returned, lengths[0])
            count = len(self.entry.numbers_of(kind))
            has_shapes = [getattr(layer, "shape", ()) for layer in layers] == [shape] * count
            if not (has_shapes and all(((each >= 0) & (each <= 1 + ROUNDING)).all() for each in layers)):
                found = "valid attention weights either: some are outside [0, 1]"
                found = found if has_shapes else "the model’s attention weights either"
                raise ModelNotSupported(f"{self._reason} transformers does not return {found}.")
        return ()  # no layers to intervene on

    def _weights(self, kind: Kind, returned: object, tokens: int) -> Sequence[Tensor]:
        """Return the weights of each layer, [batch, head, query, key], from the network's outputs.

        Args:
            tokens: Number of tokens of the encoder, or of the only stack.
        """
        found = returned_weights(returned, kind, self.entry)
        local = kind == "encoder" and self.entry.family in LOCAL
        return full_weights(self.network.config, found, returned, tokens) if local else found

    def _mask(self, kind: Kind, number: int, weights: Floats, returned: object) -> Mask:
        if kind == "encoder" and self.entry.family in LOCAL:
            return owned(mask(self.network.config, number, weights.shape[-1], returned))
        return mask_of_weights(kind, weights)

    def _blocks(
        self,
        tokenized: TokenizedInput,
        edits: Edits,  # noqa: ARG002 - there are none
        selection: Selection,
    ) -> tuple[Block, ...]:
        with torch.inference_mode():
            returned = run(self.network, self._arguments(tokenized), with_weights=True)
        sides = forward.sides(tokenized.source, tokenized.target or tokenized.source)
        blocks = [
            changed(
                weights_block(kind, number, *sides[kind], shown := owned(weights[0])),
                mask=self._mask(kind, number, shown, returned),
                sinks=UNKNOWN if kind == "encoder" and SUMMARIES in self.notes else None,
            )
            for kind in self.entry.kinds
            for number, weights in zip(
                self.entry.numbers_of(kind), self._weights(kind, returned, len(tokenized.source)), strict=True
            )
        ]
        return selection.of(blocks, self.name)
