"""Apply edits to weights, to outputs, and to copies of attnviz's own models."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeVar, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnviz.errors import InvalidEdit
from attnviz.interventions.edit import Edit, Edits, HeadOutput, by_place
from attnviz.trace import Kind
from attnviz.transformer.bert import Bert
from attnviz.transformer.decoder_only import DecoderOnly
from attnviz.transformer.encoder_decoder import EncoderDecoder
from attnviz.transformer.multi_head import MultiHeadAttention, MultiHeadSteps, join_heads

OurModel = Bert | DecoderOnly | EncoderDecoder
"""A model built from `attnviz.transformer`."""

Model = TypeVar("Model", bound=OurModel)
AnyModule = TypeVar("AnyModule", bound=nn.Module)


def places(model: OurModel) -> dict[tuple[Kind, int], str]:
    """Return the path of each attention module, for `get_submodule`, by kind and layer."""
    found: dict[tuple[Kind, int], str] = {}
    if isinstance(model, DecoderOnly):
        return {("decoder", layer): f"layers.{layer}.attention" for layer in range(len(model.layers))}
    for layer in range(len(model.encoder.layers)):
        found["encoder", layer] = f"encoder.layers.{layer}.attention"
    if isinstance(model, EncoderDecoder):
        for layer in range(len(model.decoder.layers)):
            found["decoder", layer] = f"decoder.layers.{layer}.attention"
            found["cross", layer] = f"decoder.layers.{layer}.cross_attention"
    return found


def attention_at(model: OurModel, path: str) -> MultiHeadAttention:
    """Return the attention module at a path from `places`."""
    return cast("MultiHeadAttention", model.get_submodule(path))


def edited(model: Model, edits: Sequence[Edits]) -> Model:
    """Return a copy of a model that applies edits to each sentence of a batch.

    The copy shares the parameters. The original is unchanged, so several threads can run it and make
    edited copies at the same time.

    Args:
        edits: Edits of each sentence of the batch; an input without a batch axis is one sentence.

    Raises:
        InvalidEdit: the model has no such layer or head.
    """
    copied = copy_with_shared_tensors(model)
    paths = places(model)
    heads = {place: attention_at(model, path).n_heads for place, path in paths.items()}
    for place, layer_edits in by_place(edits, heads).items():
        attention = attention_at(model, paths[place])
        copied.set_submodule(paths[place], EditedAttention(attention, layer_edits))
    return copied


def copy_with_shared_tensors(model: AnyModule) -> AnyModule:
    """Return a copy of a network, in which modules can be replaced; the copy shares the tensors."""
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    return copy.deepcopy(model, shared)  # does not copy the tensors in this memo


class EditedAttention(nn.Module):
    """Multi-head attention with edited weights or outputs.

    Edits change the weights or the output, and so all later steps; the scores are unchanged.

    Args:
        attention: The unedited attention.
        edits: Valid edits of this layer and kind, for each sentence of the batch.
    """

    def __init__(self, attention: MultiHeadAttention, edits: Sequence[Edits]) -> None:
        super().__init__()
        self.attention = attention
        self.edits = edits

    def forward(
        self,
        query_tokens: Tensor,
        key_tokens: Tensor,
        mask: Tensor | None = None,
        past: None = None,  # noqa: ARG002 - no cache: an edit may affect any token
    ) -> MultiHeadSteps:
        """Run `MultiHeadAttention` with the edits."""
        steps = self.attention(query_tokens, key_tokens, mask)
        weights, output = edited_heads(steps.attention.weights, steps.value, self.edits)
        concatenated = join_heads(output)
        return MultiHeadSteps(
            steps.query,
            steps.key,
            steps.value,
            steps.attention._replace(weights=weights, output=output),
            concatenated,
            self.attention.to_output(concatenated),
        )


def edited_heads(weights: Tensor, value: Tensor, edits: Sequence[Edits]) -> tuple[Tensor, Tensor]:
    """Return the weights and the head outputs after the edits.

    Args:
        weights: [*sentence, head, query, key].
        value: [*sentence, head, key, d_head].

    Raises:
        InvalidEdit: as for `replace_outputs`.
    """
    weights = edit_weights(weights, edits)
    return weights, replace_outputs(weights @ value, edits)


def edit_weights(
    weights: Float[Tensor, "*sentence head query key"], edits: Sequence[Edits]
) -> Float[Tensor, "*sentence head query key"]:
    """Return a copy with the edits applied; unedited weights are bitwise identical to the input.

    Edits of rows that do not exist yet are skipped, because a translation is generated word by word.

    Args:
        weights: Weights with or without a batch axis.
        edits: Edits of each sentence, in order.
    """
    changed = weights.clone().reshape(-1, *weights.shape[-3:])
    for heads, sentence_edits in zip(changed, edits, strict=True):
        for edit in sentence_edits:
            if not isinstance(edit, Edit) or (edit.query is not None and edit.query >= changed.shape[-2]):
                continue
            rows = heads[edit.head] if edit.query is None else heads[edit.head, edit.query]
            if edit.source is not None:
                moved = rows[edit.source].clone()
                rows[edit.source] = 0
                rows[edit.target] += moved
                continue
            rows.zero_()
            if edit.target is not None:
                rows[..., edit.target] = 1
    return changed.reshape(weights.shape)


def replace_outputs(
    outputs: Float[Tensor, "*sentence head query d_head"], edits: Sequence[Edits]
) -> Float[Tensor, "*sentence head query d_head"]:
    """Return a copy with replaced vectors; other outputs are bitwise identical to the input.

    As in `edit_weights`, rows that do not exist yet are skipped.

    Args:
        outputs: weights · values, with or without a batch axis.
        edits: Edits of each sentence; edits of weights are ignored.

    Raises:
        InvalidEdit: the vectors do not have the size of the head's output vectors.
    """
    changed = outputs.clone().reshape(-1, *outputs.shape[-3:])
    for sentence, sentence_edits in enumerate(edits):
        for edit in sentence_edits:
            if not isinstance(edit, HeadOutput):
                continue
            vectors, rows = torch.tensor(edit.vectors), changed[sentence, edit.head]
            if vectors.shape[1] != rows.shape[1]:
                raise InvalidEdit(
                    f"“{edit}” has vectors of {vectors.shape[1]} elements; this head needs {rows.shape[1]}."
                )
            if edit.query is not None:
                rows[edit.query : edit.query + 1] = vectors
            else:  # a single vector replaces every row
                rows[: len(vectors) if len(vectors) > 1 else None] = vectors[: len(rows)]
    return changed.reshape(outputs.shape)
