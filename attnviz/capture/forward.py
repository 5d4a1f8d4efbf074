"""One forward pass of a transformers model, as blocks whose weights are transformers' own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from attnviz.capture import own_attention
from attnviz.capture.arrays import owned
from attnviz.capture.checks import Place, compare, run
from attnviz.capture.intervening import intervening
from attnviz.capture.recorder import Record, recording
from attnviz.errors import ModelNotSupported
from attnviz.interventions.edit import Edits
from attnviz.interventions.editing import edit_weights
from attnviz.trace import Block, Kind, Mask, Token


def blocks(
    network: PreTrainedModel,
    places: Sequence[Place],
    inputs: Mapping[str, Tensor],
    source: tuple[Token, ...],
    target: tuple[Token, ...] = (),
    edits: Edits = (),
) -> tuple[Block, ...]:
    """Runs the model once and returns its attention, in the order in which it ran.

    Args:
        network: as `open_network` returns it.
        places: what `checks.checked` found in it.
        inputs: what the model is called with.
        source: what its encoder reads, or its only stack.
        target: what its decoder reads, if it has both.
        edits: what is changed in its attention; the blocks' weights are those that it went on with.

    Raises:
        InvalidEdit: the model has no such layer or head, or an edit looks where a mask forbids it.
        ModelNotSupported: it did not do what it did when it was checked, or it computes attention in a way of
            its own and what was recorded does not give its weights.
    """
    with recording() as records, intervening(network, places, [edits]), torch.inference_mode():
        run(network, inputs)
    if [record.module for record in records] != [place.module for place in places]:
        raise ModelNotSupported(
            f"{type(network).__name__} ran {len(records)} attentions, but {len(places)} when it was loaded. "
            "What cannot be shown exactly is not shown."
        )
    sides: dict[Kind, tuple[tuple[Token, ...], tuple[Token, ...]]] = {
        "encoder": (source, source),
        "decoder": (target or source, target or source),
        "cross": (target, source),
    }
    own = own_attention.has(network.config.model_type)
    masks = _Masks()
    found = []
    for place in places:
        record = records.pop(0)  # so that what was copied does not stay in memory
        weights = record.weights
        if own:
            compare(record, weights, f"{type(network).__name__}, {place.kind} layer {place.layer + 1}")
            here = [edit for edit in edits if (edit.kind, edit.layer) == (place.kind, place.layer)]
            weights = edit_weights(weights, [here])  # only its output was changed while it ran
        found.append(
            Block(
                kind=place.kind,
                layer=place.layer,
                query_tokens=sides[place.kind][0],
                key_tokens=sides[place.kind][1],
                query=owned(record.query[0]),
                key=owned(record.key[0]),
                value=owned(record.value[0]),
                weights=owned(weights[0]),
                mask=masks.of(record),
                scale=record.scale,
                bias=None if record.bias is None else owned(record.bias[0]),
                projection=place.projection,
            )
        )
    return tuple(found)


class _Masks:
    """The masks of one forward pass: layers that share one in the model share one in the trace."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int, int], Mask] = {}

    def of(self, record: Record) -> Mask:
        """[query, key], True where the mask adds nothing."""
        shape = (record.query.shape[2], record.key.shape[2])
        which = (id(record.mask), *shape)
        if which not in self._made:
            self._made[which] = _allowed(record, shape)
        return self._made[which]


def _allowed(record: Record, shape: tuple[int, int]) -> Mask:
    if record.mask is None:
        return owned(torch.ones(shape, dtype=torch.bool))
    forbids = record.mask <= torch.finfo(torch.float32).min
    if record.mask.shape[:2] != (1, 1) or not bool((forbids | (record.mask == 0)).all()):
        raise ModelNotSupported(
            f"{type(record.module).__name__} adds more than a mask to its scores. "
            "Its weights would be wrong, so they are not shown."
        )
    return owned(~forbids[0, 0].expand(shape))
